"""Programs: their notation, what makes no sense, and all programs of one size."""

import pytest

from antecede.core.errors import LocalError
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.enumerate import every_program
from antecede_lab.checker.programs import PROGRAMS, Program, Send, objection, parse


def test_a_program_reads_as_it_is_written() -> None:
    program = parse("0 sends a to 1+2, b to 0; 2 sends c to 1 after a")
    assert program.sends == (
        (Send("a", (1, 2)), Send("b", (0,))),
        (),
        (Send("c", (1,), ("a",)),),
    )
    assert program.text == "0 sends a to 1+2, b to 0; 2 sends c to 1 after a"
    assert program.processes == 3


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_named_programs_survive_being_written_and_read(program: Program) -> None:
    assert parse(program.text, program.name) == program


def test_the_named_programs_have_room_for_every_kind_of_protocol() -> None:
    for info in PROTOCOLS.values():
        runnable = [program for program in PROGRAMS.values() if not objection(info, program)]
        assert len(runnable) >= 3, info.name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected '0 sends a to 1, ...' in place of ''"),
        ("0 tells a to 1", "in place of '0 tells a to 1'"),
        ("0 sends a", "expected 'a to 1"),
        ("0 sends a to 1 before b", "expected 'a to 1"),
        ("zero sends a to 1", "expected the number of a process in place of 'zero'"),
        ("0 sends a to 1+-2", "expected the number of a process in place of '-2'"),
        ("0 sends a to 8", "process 8 is one too many"),
        ("0 sends a to 1+1", "needs targets, each of them once"),
        ("0 sends a to 1; 1 sends a to 0", "the same name"),
        ("0 sends a to 1, b to 1 after a", "'b' waits for 'a', not sent to 0"),
        ("0 sends a to 1 after x", "'a' waits for 'x', not sent to 0"),
        ("0 sends a to 1 after b; 1 sends b to 0 after a", "'a' can never be submitted"),
        ("0 sends a to 0 after a", "'a' can never be submitted"),
        ("0 sends " + ", ".join(f"m{i} to 1" for i in range(33)), "1 to 32 messages"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(LocalError) as caught:
        parse(text)
    assert complaint in str(caught.value)


def test_every_program_of_two_messages() -> None:
    """Up to the names of the processes there are seven, and it is easy to see that no one lacks."""
    assert [program.text for program in every_program(2)] == [
        "0 sends a to 1, b to 1",
        "0 sends a to 1, b to 2",
        "0 sends a to 1; 1 sends b to 0",
        "0 sends a to 1; 1 sends b to 0 after a",
        "0 sends a to 1; 1 sends b to 2",
        "0 sends a to 1; 1 sends b to 2 after a",
        "0 sends a to 2; 1 sends b to 2",
    ]


@pytest.mark.parametrize(
    ("size", "multicast", "count"), [(1, False, 1), (1, True, 2), (3, False, 38), (3, True, 168)]
)
def test_every_program_comes_once(size: int, multicast: bool, count: int) -> None:
    programs = every_program(size, 3, multicast)
    assert len(programs) == count
    assert len({program.text for program in programs}) == count
    assert all(len(program.messages) == size for program in programs)
    assert [parse(program.text) for program in programs] == programs


def test_the_triangle_is_among_the_programs_of_three_messages() -> None:
    """With 0 in the middle it reads differently, but one of them has its shape."""
    assert parse("0 sends a to 1, b to 2; 1 sends c to 2 after a") in every_program(3)


@pytest.mark.parametrize(("size", "processes"), [(0, 3), (6, 3), (3, 1), (3, 5)])
def test_sizes_without_a_list_are_refused(size: int, processes: int) -> None:
    with pytest.raises(LocalError, match="every program"):
        every_program(size, processes)
