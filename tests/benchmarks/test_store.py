"""The store: what is in it is not computed again, and nothing that it ever held is lost without a word."""

import json
import shutil

import numpy as np
import pytest

from pacb_models.benchmarks.store import Store, digest, kept, rows_of
from pacb_models.errors import InputError, RunStopped


def filled(path, **rows):
    with Store(path, resume=True) as store:
        for key, row in rows.items():
            store.add(key, row)
    return path


def test_rows_are_on_disk_before_they_are_handed_over_and_computed_once(tmp_path):
    path, asked = tmp_path / "below" / "rows.jsonl", []

    def compute(tasks):
        for key, number in tasks.items():
            asked.append(key)
            yield key, {"square": number**2}

    found = kept(path, {"a": 2, "b": 3}, compute)
    assert next(found) == ("a", {"square": 4}) == next(iter(rows_of(path).items()))
    found.close()
    with pytest.raises(InputError, match="holds results already; resume"):
        next(kept(path, {"a": 2}, compute))
    again = dict(kept(path, {"b": 3, "a": 2, "c": 4}, compute, resume=True))
    assert again == {"a": {"square": 4}, "b": {"square": 9}, "c": {"square": 16}} == rows_of(path)
    assert asked == ["a", "b", "c"]
    assert dict(kept(None, {"a": 2}, compute)) == {"a": {"square": 4}}


def test_a_last_line_is_cut_off_only_where_it_is_torn_and_kept_aside(tmp_path):
    whole = json.dumps({"key": "whole", "row": [1]})
    for left, kept_keys in ((whole, ["first", "whole"]), (whole[:-5], ["first"])):
        path = filled(tmp_path / str(len(left)), first=0)
        path.write_text(path.read_text() + left)
        before = path.read_bytes()
        assert list(rows_of(path)) == kept_keys and path.read_bytes() == before
        assert list(rows_of(filled(path, next=2))) == [*kept_keys, "next"]
        aside = path.with_name(f"{path.name}.cut")
        assert (aside.read_text() == f"{left}\n") if len(kept_keys) == 1 else not aside.exists()
    only = tmp_path / "only"
    only.write_text(whole[:4])
    assert rows_of(only) == {} and list(rows_of(filled(only, next=2))) == ["next"]


@pytest.mark.parametrize("begun", [True, False], ids=["after a row", "before one"])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_is_deleted_or_moved_is_noticed_at_the_next_row(tmp_path, how, begun):
    path = filled(tmp_path / "out" / "rows", a=1)
    with Store(path, resume=True) as store:
        if begun:
            store.add("b", 2)
        {"deleted": shutil.rmtree, "moved": lambda folder: folder.rename(tmp_path / "other")}.get(
            how, lambda folder: (path.unlink(), path.write_text(""))
        )(path.parent)
        with pytest.raises(RunStopped, match="was deleted or moved"):
            store.add("c", 3)
        assert "c" not in store.rows
    if how == "moved":
        assert list(rows_of(tmp_path / "other" / "rows")) == ["a", "b"][: 1 + begun]


def test_two_at_once_are_refused_a_lock_that_nobody_holds_is_none_and_the_newest_row_of_a_key_counts(tmp_path):
    path = filled(tmp_path / "rows", a=1)
    with Store(path, resume=True), pytest.raises(InputError, match="another process is"):
        filled(path, b=2)
    (tmp_path / ".rows.lock").touch()
    assert list(rows_of(filled(path, b=2, a=3)).items()) == [("a", 3), ("b", 2)]


def test_digests_tell_arrays_and_recipes_apart():
    array = np.linspace(0.0, 1.0, 2000)
    other = array.copy()
    other[1000] += 1e-16 + np.spacing(other[1000])
    names = [digest("a", array), digest("a", other), digest("a", array.astype("f4")), digest("a"), digest("a", np.sum)]
    assert len(set(names)) == len(names) and digest("a", array.copy()) == names[0]
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 1, "b": 2})
