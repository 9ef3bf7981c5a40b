"""Keys as text and in files: every mistake is a clear sentence, and none shows a secret."""

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from antecede.core.errors import LocalError
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.keys import (
    ClusterKey,
    PublicKey,
    SecretKey,
    key_line,
    new_secret,
    parse_public,
    parse_secret,
    read_secret_file,
    readable_by_others,
    write_key_file,
)
from antecede_cli.main import main


def test_a_key_survives_being_written_and_read() -> None:
    secret = new_secret()
    assert parse_secret(secret.text()) == secret
    assert parse_public(f" {secret.public}\n") == secret.public
    assert len(str(secret.public)) == len("ante_pub_") + 48


def test_no_repr_shows_a_secret() -> None:
    secret = SecretKey(bytes(range(32)))
    for shown in (repr(secret), repr(ClusterKey(secret.raw)), str(secret)):
        assert secret.text()[9:] not in shown
        assert repr(secret.raw) not in shown


def test_every_mistyped_letter_is_noticed() -> None:
    text = str(PublicKey(bytes(range(32))))
    for index in range(len(text)):
        wrong = "A" if text[index] != "A" else "B"
        with pytest.raises(LocalError):
            parse_public(text[:index] + wrong + text[index + 1 :])


def test_a_pasted_secret_is_recognised_and_not_repeated() -> None:
    secret = new_secret().text()
    with pytest.raises(LocalError, match="SECRET key where a public one belongs") as caught:
        parse_public(secret)
    assert secret[9:] not in str(caught.value)


def test_a_secret_does_not_become_public_by_its_first_letters() -> None:
    secret = new_secret().text()
    with pytest.raises(LocalError, match="checksum"):
        parse_public("ante_pub_" + secret[9:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begin with ante_pub_"),
        ("ssh-ed25519 AAAA", "begin with ante_pub_"),
        ("ante_pub_", "too short"),
        ("ante_pub_" + "A" * 64, "too long"),
        ("ante_pub_" + "é" * 48, "letters that no key has"),
        ("ante_pub_" + "!" * 48, "letters that no key has"),
    ],
)
def test_what_is_no_key_is_told_apart(text: str, said: str) -> None:
    with pytest.raises(LocalError, match=said):
        parse_public(text)


def test_a_key_file_is_its_owner_s_alone_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "alice.key"
    secret = new_secret()
    write_key_file(file, secret.text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not readable_by_others(file)
    assert read_secret_file(file) == secret
    with pytest.raises(BadConfiguration, match="never overwritten"):
        write_key_file(file, new_secret().text())
    assert read_secret_file(file) == secret
    file.chmod(0o640)
    assert readable_by_others(file)


def test_comments_and_empty_lines_may_stand_in_a_key_file(tmp_path: Path) -> None:
    secret = new_secret()
    file = tmp_path / "alice.key"
    file.write_text(f"# alice, made for the staging cluster\n\n{secret.text()}\n")
    assert read_secret_file(file) == secret


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 keys"),
        (b"# nothing\n", "0 keys"),
        (b"ante_sec_a\nante_sec_b\n", "2 keys"),
        (b"\xff\xfe\x00", "begin with ante_sec_"),
        (b"x" * 5000, "too long for a key file"),
    ],
)
def test_a_broken_key_file_is_one_clear_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "alice.key"
    file.write_bytes(content)
    with pytest.raises(BadConfiguration, match=said) as caught:
        read_secret_file(file)
    assert "alice.key" in str(caught.value)


def test_a_missing_key_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="No such file"):
        key_line(tmp_path / "nobody.key")


def test_members_of_a_cluster_find_each_other_s_keys() -> None:
    one, other = ClusterKey(bytes(32)), ClusterKey(bytes(32))
    assert one.secret_of("bob").public == other.secret_of("bob").public
    assert one.secret_of("bob") != one.secret_of("alice")
    assert one.shared != one.secret_of("").raw


def test_the_command_prints_the_public_key_as_its_only_line(tmp_path: Path) -> None:
    file = str(tmp_path / "alice.key")
    made = CliRunner().invoke(main, ["key", "new", file])
    shown = CliRunner().invoke(main, ["key", "public", file])
    assert made.exit_code == shown.exit_code == 0
    assert made.output == shown.output
    assert made.output.count("\n") == 1
    assert parse_public(made.output) == read_secret_file(Path(file)).public


def test_the_command_explains_its_failures(tmp_path: Path) -> None:
    file = tmp_path / "alice.key"
    assert CliRunner().invoke(main, ["key", "public", str(file)]).exit_code == 2
    file.write_text("ante_pub_" + "A" * 48)
    refused = CliRunner().invoke(main, ["key", "public", str(file)])
    assert refused.exit_code == 2
    assert "public key where the secret one belongs" in refused.output
