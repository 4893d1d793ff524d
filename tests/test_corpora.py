"""WikiText in GPT-2's code, CIFAR-100, folders of images, and crops."""

import pytest
import torch
from helpers import tiny_cifar, tiny_corpus, tiny_images

from grokbook import corpora, datasets, images

LINE = " the cat sat on the mat \n"


@pytest.fixture(autouse=True)
def fresh_code():
    corpora.encoder.cache_clear()
    yield
    corpora.encoder.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path))
    return tmp_path


# Text --------------------------------------------------------------------------------


def test_code_merges_by_rank_and_writes_any_text(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch)
    encode = corpora.encoder()
    byte = {value: key for key, value in enumerate(corpora._bytes().values())}
    assert encode("he") == [256]
    assert encode(" the") == [258]  # Ġt and he, then both
    assert encode("\x00é") == [byte[0], *(byte[b] for b in "é".encode())]
    assert byte[ord("!")] == 0  # as in GPT-2's file
    assert corpora.encoder(257)(" the") == [byte[ord(" ")], byte[ord("t")], 256]
    assert corpora.encoder(256)("he") == [byte[ord("h")], byte[ord("e")]]


def test_published_code(monkeypatch):
    """The real file, where it is there: known numbers of known words."""
    if not (datasets.data_folder() / "gpt2/encoder.json").exists():
        pytest.skip("gpt2/encoder.json is not in the data folder")
    assert corpora.encoder()("Hello world") == [15496, 995]
    assert max(corpora.encoder(4096)("Hello grokking world")) < 4096


def test_blocks_follow_each_other_and_labels_are_one_ahead(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=10)
    tokens = corpora.encoder(257)(LINE) * 10
    data = corpora.wikitext(block=7, vocabulary=257, test_blocks=2)
    blocks = (len(tokens) - 1) // 7
    assert data.x_train.shape == data.y_train.shape == (blocks, 7)
    assert data.x_train.flatten().tolist() == tokens[: blocks * 7]
    assert data.y_train.flatten().tolist() == tokens[1 : blocks * 7 + 1]
    assert data.x_test.tolist() == data.x_train[:2].tolist()
    first = corpora.wikitext(block=7, vocabulary=257, train_blocks=3)
    assert torch.equal(first.x_train, data.x_train[:3])


def test_wikitext_that_is_not_there(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=1)
    with pytest.raises(datasets.DataError, match="wiki.train.raw is not in .* put it"):
        corpora.wikitext("wikitext-103-raw")
    with pytest.raises(datasets.DataError, match="too few for a block of 512"):
        corpora.wikitext(vocabulary=256)
    with pytest.raises(ValueError, match="between 256 and 50257: 100"):
        corpora.wikitext(vocabulary=100)


def test_unpinned_corpus_is_read_as_it_lies(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch)
    (folder / "wikitext-103-raw").mkdir()
    for part in ("train", "test"):
        (folder / f"wikitext-103-raw/wiki.{part}.raw").write_text(LINE * 5)
    data = corpora.wikitext("wikitext-103-raw", block=4)
    assert (
        data.x_train.flatten().tolist()
        == (corpora.encoder()(LINE) * 5)[:-1][: data.x_train.numel()]
    )


# Images ------------------------------------------------------------------------------


def test_cifar100_normalised(folder, monkeypatch):
    tiny_cifar(folder, monkeypatch, images=6)
    data = datasets.cifar100(normalised=True, train_samples=4, test_samples=3)
    assert data.x_train.shape == (4, 3, 32, 32)
    assert data.y_test.tolist() == [0, 1, 2]
    whole = datasets.cifar100(normalised=True)
    assert whole.x_train.mean((0, 2, 3)).abs().max() < 1e-4
    assert whole.x_train.std((0, 2, 3)).tolist() == pytest.approx([1, 1, 1], abs=1e-4)
    raw = datasets.cifar100().x_test
    slope = (data.x_test[:, 0] - data.x_test[0, 0, 0, 0]) / (
        raw[:3, 0] - raw[0, 0, 0, 0]
    )
    assert slope.nanmedian() > 3


def test_md5_pins_are_checked(folder):
    (folder / "cifar-100-python").mkdir()
    (folder / "cifar-100-python/train").write_bytes(b"other")
    with pytest.raises(datasets.DataError, match="not the published .*md5 795f3202"):
        datasets.cifar100()


def test_image_folder(folder, monkeypatch):
    tiny_images(folder, monkeypatch)
    data = images.image_folder(size=6)
    assert len(data.x_train) == len(data.y_train) == 6
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 1]
    batch = data.x_train[torch.tensor([5, 0])]
    assert batch.shape == (2, 3, 6, 6)
    red = [(1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225]
    assert batch[1, :, 3, 3].tolist() == pytest.approx(red)
    assert (batch[0] == batch[0, :, :1, :1]).all()  # one colour


def test_image_folder_that_is_not_there(folder, monkeypatch):
    with pytest.raises(datasets.DataError, match="no images in folders by class: put"):
        images.image_folder()
    tiny_images(folder, monkeypatch)
    (folder / "imagenet/train/n01/0.png").write_bytes(b"no image")
    data = images.image_folder()
    with pytest.raises(datasets.DataError, match="0.png cannot be read as an image"):
        data.x_train[torch.tensor([0])]


def test_crops_are_squares_of_the_image_or_its_mirror():
    torch.manual_seed(0)
    picture = torch.arange(1.0, 31).view(1, 1, 5, 6)
    seen = set()
    for cut in images.crop_flip(picture.expand(300, 2, 5, 6), size=4):
        assert torch.equal(cut[0], cut[1])
        mirrored = bool(cut[0, 0, 0] > cut[0, 0, 1])
        square = cut[0].flip(-1) if mirrored else cut[0]
        row, column = divmod(int(square[0, 0]) - 1, 6)
        assert torch.equal(square, picture[0, 0, row : row + 4, column : column + 4])
        seen.add((row, column, mirrored))
    assert len(seen) == 2 * 3 * 2  # every place, both ways


def test_padding_and_the_middle():
    torch.manual_seed(0)
    ones = torch.ones(200, 3, 4, 4)
    cuts = images.crop_flip(ones, size=4, padding=2)
    kept = cuts.sum((1, 2, 3))
    assert kept.min() == 3 * 2 * 2
    assert kept.max() == 3 * 4 * 4
    picture = torch.arange(36.0).view(1, 1, 6, 6)
    middle = images.crop_flip(picture, size=4, padding=9, random=False)
    assert torch.equal(middle, picture[..., 1:5, 1:5])
