"""Nothing here runs without Spark."""

import pytest

pytest.importorskip("pyspark", reason="Spark comes with the extra `lab`")
