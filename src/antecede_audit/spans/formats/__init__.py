"""The formats that traces come in: one module each, and `catalogue`, which knows them all."""
