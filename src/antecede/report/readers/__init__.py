"""Files of other commands as plain values: what is there, and what it says. No Spark, no JVM."""
