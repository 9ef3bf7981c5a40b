"""Opening Spark: which Java, which settings, and what the workers import."""

from pyspark.sql import SparkSession


def test_it_works(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10
