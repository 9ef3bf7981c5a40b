"""What processes are called, and in which order they are numbered."""

from antecede_audit.spans.formats.records import process_key
from antecede_audit.spans.summary import names_of


def test_instances_are_named_only_where_a_service_has_several() -> None:
    keys = [
        process_key("web", "h1"),
        process_key("db", "h1"),
        process_key("db", "h2"),
        process_key("mail", ""),
        process_key("cart", "cart"),
    ]

    assert list(names_of(keys).values()) == ["cart", "db@h1", "db@h2", "mail", "web"]


def test_a_service_with_and_without_an_instance_is_two_processes() -> None:
    assert list(names_of(["db", process_key("db", "h1")]).values()) == ["db", "db@h1"]


def test_numbers_are_in_the_order_of_numbers() -> None:
    assert list(names_of(["10", "9", "100"])) == ["9", "10", "100"]
    assert list(names_of(["10", "9", "x"])) == ["10", "9", "x"]
