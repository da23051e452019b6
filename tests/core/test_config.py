"""Config: names, values, scopes."""

import asyncio
import dataclasses
import threading

import pytest

from jacana.core import config
from jacana.core.config import Config, current, field_of, from_environment, override, read, update


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """Each test starts from the default settings and leaves none behind."""
    monkeypatch.setattr(config, "_process", config._intern(Config()))


def test_defaults():
    assert current() == Config()
    assert current().enable_x64 is False and current().threefry_partitionable is True
    assert read("jax_default_prng_impl") == "threefry2x32"
    assert read("jax_platforms") == "cpu"


def test_update_by_jax_name():
    update("jax_enable_x64", True)
    assert current().enable_x64 and read("jax_enable_x64") is True
    update("jax_platform_name", "cpu")
    assert read("jax_platform_name") == "cpu"


def test_what_is_not_there_yet_says_so():
    with pytest.warns(UserWarning, match="jax_debug_key_reuse has no effect yet"):
        update("jax_debug_key_reuse", True)


def test_frozen_and_interned():
    with pytest.raises(dataclasses.FrozenInstanceError):
        current().enable_x64 = True
    with override(enable_x64=True) as first:
        pass
    with override(enable_x64=True) as second:
        assert first is second is current()


def test_unknown_option_names_the_nearest():
    with pytest.raises(AttributeError, match=r"option: jax_enable_x46\..*jax_enable_x64"):
        update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="traced"), override(traced=()):
        pass
    assert field_of("jax_debug_nans") == "debug_nans"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("jax_enable_x64", "yes", "jax_enable_x64 is True or False, got 'yes'"),
        ("jax_numpy_rank_promotion", "maybe", "one of 'allow', 'warn', 'raise', got 'maybe'"),
        ("jax_default_matmul_precision", "best", "'highest'.*got 'best'"),
        ("jax_random_seed_offset", 1.5, "whole number, got 1.5"),
    ],
)
def test_wrong_values(name, value, message):
    with pytest.raises(ValueError, match=message):
        update(name, value)


def test_override_nests_and_ends():
    with override(enable_x64=True):
        with override(debug_nans=True):
            assert current().enable_x64 and current().debug_nans
        assert current().enable_x64 and not current().debug_nans
    assert current() is config._process
    with pytest.raises(KeyError), override(enable_x64=True):
        raise KeyError
    assert not current().enable_x64


def test_update_within_override_keeps_what_was_overridden():
    with override(enable_x64=True):
        update("jax_enable_x64", False)
        update("jax_debug_nans", True)
        assert current().enable_x64 and current().debug_nans
        with override(debug_infs=True):
            assert current().enable_x64 and current().debug_nans and current().debug_infs
    assert current().debug_nans and not current().enable_x64


def test_override_is_seen_by_its_own_thread_only():
    seen = []
    with override(enable_x64=True):
        thread = threading.Thread(target=lambda: seen.append(current().enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_override_is_seen_by_its_own_task_only():
    async def wide(started, checked):
        with override(enable_x64=True):
            started.set()
            await checked.wait()
            return current().enable_x64

    async def both():
        started, checked = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(wide(started, checked))
        await started.wait()
        outside = current().enable_x64
        checked.set()
        return outside, await task

    assert asyncio.run(both()) == (False, True)


def test_environment():
    made = from_environment(
        {"JAX_ENABLE_X64": "1", "JAX_DEBUG_NANS": "False", "JAX_COMPILATION_CACHE_DIR": "/a",
         "JAX_NUMPY_RANK_PROMOTION": "raise", "JACANA_NUM_THREADS": "3"}
    )  # fmt: skip
    assert made.enable_x64 and not made.debug_nans and made.compilation_cache_dir == "/a"
    assert made.numpy_rank_promotion == "raise" and made.num_threads == 3
    both = {"JAX_COMPILATION_CACHE_DIR": "/a", "JACANA_CACHE_DIR": "/b"}
    assert from_environment(both).compilation_cache_dir == "/b"
    with pytest.raises(ValueError, match="JAX_ENABLE_X64 is one of 1, true"):
        from_environment({"JAX_ENABLE_X64": "maybe"})


def test_traced_settings_are_one_object_where_only_others_differ():
    with override(log_compiles=True) as logging, override(enable_x64=True) as wide:
        assert logging is not wide
    assert logging.traced is current().traced
    assert wide.traced is not current().traced and wide.traced != current().traced
