"""`python -m antecede` is the same as `antecede`."""

from antecede_cli.main import main

if __name__ == "__main__":
    main(prog_name="antecede")
