"""An export says everything, and what is loaded from it is the same to the last bit."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from fsir.fitted.errors import ExportError, InputError
from fsir.fitted.export import FORMAT, read, to_npz
from fsir.fitted.load import load
from fsir.wire.messages import encode
from tests.fsir.fitted.made import ALL, numeric, of_mapped, of_screened, plain, records

PLAIN = plain()
# What an export of 0.1 had.
OLD = {
    *{"task", "digest", "version", "features", "centre", "scale", "basis", "singular_values"},
    *{"noise_level", "expected_error", "devices", "records", "refused", "notes"},
    *{"classes", "weights", "bias", "centroids"},
}
PROMISE = {"epsilon", "delta", "unit_records", "mechanism", "proven", "statement"}


def table(subspace) -> dict:
    return json.loads(subspace.to_json())


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_what_is_loaded_is_what_was_exported(made, suffix, tmp_path):
    subspace = made()
    subspace.export(tmp_path / f"s{suffix}")
    again = load(tmp_path / f"s{suffix}")
    assert again.task == subspace.task
    assert encode(again.message) == encode(subspace.message)
    assert load((tmp_path / f"s{suffix}").read_bytes()).to_json() == subspace.to_json()


def test_both_formats_say_the_same():
    for made in ALL.values():
        values = table(made())
        subspace = made()
        with np.load(io.BytesIO(to_npz(subspace.task, subspace.message))) as arrays:
            assert set(arrays.files) == set(values)
            for name in set(values) - {"task_bytes", "message_bytes"}:
                assert arrays[name].tolist() == values[name]


def test_it_has_what_it_had_and_what_was_missing():
    values = table(PLAIN)
    bounds = {"truncate", "norm", "grid", "steps", "longest"}
    assert set(values) >= OLD | PROMISE | bounds | {"temperature", "expected_accuracy", "response"}
    assert values["format"] == FORMAT
    assert values["proven"] is True
    assert values["epsilon"] == 8
    assert values["centre"] == [0.5, -1.0, 2.0, 0.0]


def test_features_that_were_chosen_have_their_own_constants():
    values = table(of_screened())
    assert values["features"] == ["x4", "x0", "x1"]
    assert len(values["centre"]) == len(values["basis"]) == 3
    assert values["norm"] == 1.5  # of the second report


def test_a_public_map_comes_along_and_no_clip():
    values = table(of_mapped())
    assert np.array(values["map"]).shape == (6, 3)
    assert np.array(values["map_whitening"]).shape == np.array(values["map_centres"]).shape
    assert np.array(values["classifier_basis"]).shape == (6, 2)
    assert "norm" not in values
    assert values["truncate"] == 2.0


def test_a_number_has_cuts_and_no_classes():
    values = table(numeric())
    assert values["cuts"] == [-0.5, 0.0, 0.5]
    assert "classes" not in values


def test_an_export_of_the_first_version_is_refused_with_what_to_do():
    old = {name: value for name, value in table(PLAIN).items() if name in OLD}
    with pytest.raises(ExportError, match=r"version 0\.1.*export it again: fsir-aggregator sub"):
        load(json.dumps(old).encode())
    file = io.BytesIO()
    np.savez(file, **old)
    with pytest.raises(ExportError, match=r"version 0\.1"):
        load(file.getvalue())


@pytest.mark.parametrize("name", ["weights", "centre", "classes", "longest", "epsilon"])
def test_a_number_that_was_changed_is_seen(name):
    values = table(PLAIN)
    changed = {"classes": ["x", "b", "c"], "weights": [[0.0] * 2] * 3}.get(name, 1)
    with pytest.raises(ExportError, match=f"{name!r} is not what the devices have"):
        load(json.dumps(values | {name: changed}).encode())


def test_words_may_be_put_otherwise_and_fields_be_added_later():
    values = table(PLAIN) | {"statement": "proven, in other words", "colour": "blue"}
    del values["unit_records"]
    assert load(json.dumps(values).encode()).to_json() == PLAIN.to_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "fsir-subspace 2"}, "format 'fsir-subspace 2', this program reads"),
        ({"task_bytes": "not base64!"}, "its bytes are damaged"),
        ({"task_bytes": 7}, "its bytes are damaged"),
        ({"message_bytes": "AAAA"}, "its bytes are damaged"),
        ({"message_bytes": table(numeric())["message_bytes"]}, "damaged .*another task"),
    ],
)
def test_damaged_ones_are_refused(change, said):
    with pytest.raises(ExportError, match=said):
        read(json.dumps(table(PLAIN) | change).encode(), "a file")


@pytest.mark.parametrize("raw", [b"", b"[]", b"nothing", b"{", b"PK\x03\x04 no zip", b"\x93NUMPY"])
def test_what_is_no_export_is_refused(raw):
    with pytest.raises(ExportError, match=r"not .* of a subspace"):
        read(raw, "a file")


def test_the_name_says_the_format(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.json or \.npz"):
        PLAIN.export(tmp_path / "s.csv")


def test_it_is_used_without_its_bytes_elsewhere():
    """The numbers alone, in the plainest way: docs/using.md has it in full."""
    values = table(PLAIN)
    X = records(PLAIN.task, 20)[0]
    Z = ((X - values["centre"]) / values["scale"]) @ np.array(values["basis"])
    assert np.allclose(Z, PLAIN.transform(X), rtol=1e-12)
