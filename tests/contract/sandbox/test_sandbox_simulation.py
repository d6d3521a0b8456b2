"""The simulation against the real tools: the same commands in both, the same answers and end states."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.envs.tools.sandbox import Backend, Files, Limits, SeedFile, text_files
from arena.envs.tools.sim import TOOLS, SimSandbox
from arena.envs.tools.snapshot import database_bytes
from arena.errors import UsageError

pytestmark = pytest.mark.engine

FIXTURE: Files = {
    **text_files(
        {
            "a.txt": "pear\napple\nfig\napple\n",
            "b.csv": "id,name,qty\n1,bolt,30\n2,nut,5\n10,screw,200\n",
            "conf/app.conf": "# app\nport = 10\nhost=local\n\n[db]\nport = 100\n",
            "conf/empty": "",
            "logs/app.log": "INFO start\nERROR disk full\nWARN slow\nERROR net down\ninfo end\n",
            "logs/old/x.log": "ERROR old\n",
            "no newline": "last line open",
            "wide.txt": "a b  c\tdd\n  lead\n\n\nx,y;z\n",
        }
    ),
    "bin/run": SeedFile(data=b"#!/bin/sh\n", mode=0o755),
    "data.json": SeedFile(data=b'{"k": [1, 2]}\n', mode=0o600),
    "link": SeedFile(kind="symlink", target="a.txt"),
    "nowhere": SeedFile(kind="symlink", target="gone/away"),
    "dirlink": SeedFile(kind="symlink", target="conf"),
    "locked": SeedFile(data=b"no\n", mode=0o000),
    "sealed": SeedFile(kind="dir", mode=0o500),
    "sealed/in": SeedFile(data=b"in\n", mode=0o444),
    "blind": SeedFile(kind="dir", mode=0o000),
    "shop.db": SeedFile(
        data=database_bytes(
            "create table item(id integer primary key, name text, price real);"
            "insert into item values (1,'bolt',0.5),(2,'nut',null),(3,'gear, big',12);"
        )
    ),
}

COMMANDS = r"""
cat a.txt
cat -n a.txt b.csv
cat absent a.txt
cat conf
cat locked
cat link nowhere dirlink
cat /etc/shadow /bin
cat a.txt/x
ls
ls -a
ls -A
ls -1 conf logs
ls -l
ls -la conf
ls -l a.txt link dirlink bin
ls -d conf a.txt
ls -R
ls -p
ls -F
ls -r
ls -S conf logs
ls absent a.txt conf
ls blind
ls sealed
ls -l sealed/in
ls conf/
ls a.txt/
cp a.txt copy
cp a.txt b.csv conf
cp a.txt conf/empty
cp conf conf2
cp -r conf conf2
cp -r conf logs
cp -rp sealed sealed2
cp absent x
cp a.txt no/such/dir
cp a.txt a.txt
cp a.txt sealed/new
cp locked x
cp a.txt b.csv absent
cp link copied
cp a.txt link
cp -r link b.csv
cp -rf link b.csv
cp -r conf dirlink
cp -r dirlink conf
cp -r link copied
cp -a link copied
cp -r . conf
cp a.txt b.csv c.txt
cp -p data.json d2.json
cp a.txt /etc/x
cp data.json d3.json
cp bin/run run2
cp conf a.txt
cp -r conf a.txt
cp -r conf new/deep
cp a.txt nowhere
cp -r blind b2
cp nowhere x
cp a.txt blind
cp a.txt dirlink
cp -r bin link
mv a.txt z.txt
mv a.txt conf
mv a.txt b.csv
mv absent x
mv a.txt b.csv logs
mv conf logs
mv conf logs/old
mv conf conf/sub
mv conf a.txt
mv a.txt sealed
mv sealed/in out
mv a.txt /etc/x
mv -n a.txt b.csv
mv link moved
mv a.txt b.csv absent
mv a.txt b.csv data.json
mv a.txt b.csv/x
mv a.txt blind/x
mv absent b.csv/x
mv b.csv/x y
cp b.csv/x y
cp a.txt b.csv/x
cp absent b.csv/x
mv a.txt no/such
rm a.txt
rm a.txt absent
rm -f absent
rm conf
rm -r conf
rm -rf logs absent
rm -r sealed
rm -rf blind
rm -r blind
rm -rf sealed blind logs
rm link
rm nowhere
rm -r dirlink
rm locked
rm sealed/in
rm -rf .
rm -rf ..
rm /etc/passwd
rm -r conf/app.conf
mkdir new
mkdir conf
mkdir -p x/y/z conf
mkdir x/y
mkdir -m 700 private
mkdir -p a.txt/x
mkdir -p a.txt
mkdir -p a.txt/x/y
mkdir -p sealed/x/y
mkdir -p link
mkdir -p nowhere
mkdir a.txt
mkdir sealed/d
mkdir /d
mkdir -p conf/sub
rmdir conf
rmdir absent
rmdir a.txt
rmdir sealed
rmdir blind
touch a.txt new
touch -c nope
touch no/such
touch sealed/x
touch locked
touch /etc/x
touch sealed/in
chmod 600 a.txt
chmod u+x a.txt
chmod go-r,u=rw b.csv
chmod +x b.csv
chmod -x bin/run
chmod a=r a.txt
chmod 0755 conf
chmod -R go-rwx conf
chmod -R u+rwX blind sealed
chmod 644 absent
chmod abc a.txt
chmod 999 a.txt
chmod o=u a.txt
chmod 600 link
chmod 644 /etc/passwd
chmod -R 700 dirlink
ln -s a.txt new
ln -s a.txt link
ln -sf b.csv link
ln a.txt hard
ln a.txt conf
ln -s ../a.txt conf
ln absent x
ln nowhere x
ln link x
ln conf hard
ln a.txt b.csv
stat -c %a:%s:%n:%F a.txt conf/empty conf link
stat -c '%A %U %G %h %u' a.txt conf bin/run
stat -c %N link
stat -L -c %s link
stat -c %Y a.txt
stat -c %a absent
readlink link
readlink a.txt
readlink absent
find . -type f -name '*.log'
find conf
find conf -type d
find . -maxdepth 1 -name '[a-c]*'
find absent
find a.txt conf -type f
find . -mindepth 2 -type f
find blind
grep ERROR logs/app.log
grep -n apple a.txt b.csv
grep -c ERROR logs/app.log
grep -i error logs/app.log
grep -v ERROR logs/app.log
grep -r ERROR logs
grep -rl port conf
grep -l port conf/app.conf a.txt
grep -L port conf/app.conf a.txt
grep -h port conf/app.conf a.txt
grep -H port conf/app.conf
grep -q port conf/app.conf
grep -q nothing conf/app.conf
grep nothing a.txt
grep x absent
grep -s x absent
grep port absent conf/app.conf
grep -q port absent conf/app.conf
grep -E '^(port|host)' conf/app.conf
grep -E '[0-9]{3}' b.csv
grep '^$' conf/app.conf
grep -c '' wide.txt
grep -F . a.txt
grep -F '[db]' conf/app.conf
grep -w port conf/app.conf
grep -x apple a.txt
grep -o '[a-z]*' a.txt
grep -on 'E[A-Z]*' logs/app.log
grep -m 1 ERROR logs/app.log
grep 'a\(p\)\1' a.txt
grep -e pear -e fig a.txt
grep 'p*le$' a.txt
grep '*' a.txt
grep -E 'a|b' a.txt
grep '[[:upper:]]' a.txt
grep '[[:digit:]][[:digit:]]*' b.csv
grep x conf
grep -c x conf a.txt
grep -v x conf
grep x locked
grep open 'no newline'
grep -vc apple a.txt
wc a.txt
wc -l a.txt
wc -l a.txt b.csv
wc -w wide.txt
wc -c 'no newline'
wc -lw a.txt
wc absent a.txt
wc conf
head a.txt
head -n 2 a.txt
head -2 a.txt
head -n 1 a.txt b.csv
head -q -n 1 a.txt b.csv
head -c 5 a.txt
head -n -1 a.txt
head -n 0 a.txt
head absent
head -n 1 'no newline' a.txt
tail -n 1 a.txt
tail -2 a.txt
tail -n +2 b.csv
tail -c 4 a.txt
tail -n 1 a.txt b.csv
tail absent
tail absent a.txt
tail conf
head conf
sort conf
cut -c 1 conf
sed p conf
uniq conf
tail -n 0 a.txt
tail -n 1 'no newline'
sort a.txt
sort -r a.txt
sort -u a.txt
sort -n b.csv
sort -t , -k 3 -n b.csv
sort -t , -k 3,3 -n b.csv
sort -t , -k 2,2 b.csv
sort -k 2 logs/app.log
sort -f a.txt logs/app.log
sort -o sorted a.txt
sort absent
sort -rn -t , -k 3 b.csv
sort 'no newline' a.txt
sort -t , -k 3,3n b.csv
sort wide.txt
uniq a.txt
uniq -c a.txt
uniq -d a.txt
uniq absent
cut -d , -f 2 b.csv
cut -d , -f 1,3 b.csv
cut -d , -f 2- b.csv
cut -c 1-3 a.txt
cut -d = -f 2 conf/app.conf
cut -s -d = -f 2 conf/app.conf
cut -f 1 wide.txt
cut -d , -f 1 absent
sed s/apple/APPLE/ a.txt
sed s/p/P/g a.txt
sed s/p/P/2 a.txt
sed -n 2p a.txt
sed -n '2,3p' a.txt
sed -n '$p' a.txt
sed -n /ERROR/p logs/app.log
sed /ERROR/d logs/app.log
sed 1d b.csv
sed '2,$d' b.csv
sed '/^#/d;/^$/d' conf/app.conf
sed -E 's/([a-z]+) = ([0-9]+)/\2:\1/' conf/app.conf
sed 's/\([a-z]*\)=\([a-z]*\)/\2=\1/' conf/app.conf
sed -i 's/^port = 10$/port = 20/' conf/app.conf
sed -i 's/x/y/' absent
sed -i /fig/d a.txt link
sed s/x/y/ absent a.txt
sed 2q a.txt
sed -n 's/ERROR/E/p' logs/app.log
sed 's/.*/[&]/' a.txt
sed 's|/|:|' bin/run
sed -e s/a/1/ -e s/e/2/ a.txt
sed '1!d' a.txt
sed '/apple/,/fig/d' a.txt
sed 's/$/;/' 'no newline'
sed -n '/\[db\]/,$p' conf/app.conf
sed 's/[[:space:]]*$//' wide.txt
sed 's/a\+/X/g' a.txt
cmp a.txt a.txt
cmp a.txt b.csv
cmp -s a.txt b.csv
cmp a.txt absent
cmp conf/empty a.txt
echo
echo a b '  c'
echo -n x
printf '%s-%s\n' a b c
printf '%d%%\n' 5
printf 'a\tb\n'
printf '%5d|%-5s|\n' 42 ab
test -f a.txt
test -d conf
test -e nowhere
test -L nowhere
test -s conf/empty
test -x bin/run
test -w locked
test -r sealed/in
test 3 -gt 2
test a = b
test -z ''
test ! -f absent
[ -f a.txt ]
[ 1 -eq 2 ]
true
false
pwd
basename conf/app.conf
basename conf/app.conf .conf
basename /
dirname conf/app.conf
dirname a.txt
dirname /a
sha256sum a.txt conf/empty
md5sum a.txt absent
md5sum conf
tee /dev/null
sqlite3 shop.db 'select * from item'
sqlite3 shop.db 'select name, price from item where price > 1; select count(*) from item'
sqlite3 -header shop.db 'select id, name from item'
sqlite3 -csv -header shop.db 'select * from item'
sqlite3 shop.db 'update item set price = price * 2 where id = 1; select price from item where id=1'
sqlite3 shop.db 'delete from item where id > 1'
sqlite3 -readonly shop.db 'select sum(price), avg(price), 1/2, 1e20 from item'
sqlite3 new.db 'create table t(x); insert into t values (1)'
no-such-tool
/bin/cat a.txt
/bin/nope
""".strip().splitlines()

UNORDERED = ("find", "grep -r")
"""Their order is that of the file system, which kernels define differently."""


def answer(text: str, out: bytes) -> list[bytes] | bytes:
    return sorted(out.split(b"\n")) if text.startswith(UNORDERED) else out


@pytest.mark.parametrize("tool", sorted({shlex.split(line)[0] for line in COMMANDS}))
def test_the_simulation_answers_as_the_tools_do(bwrap_backend: Backend, tool: str) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for text in (line for line in COMMANDS if shlex.split(line)[0] == tool):
            argv = shlex.split(text)
            real.reset(FIXTURE)
            sim.reset(FIXTURE)
            was, said = real.exec(argv), sim.exec(argv)
            assert (said.rc, said.err_text) == (was.rc, was.err_text), text
            assert answer(text, said.out) == answer(text, was.out), text
            if tool != "sqlite3":
                changes = real.snapshot().changes(sim.snapshot())
                assert changes == (), text


@pytest.mark.parametrize("argv", [["tr", "a-z", "A-Z"], ["tr", "-d", "\n"], ["tr", "-s", "p"], ["tr", "-cd", "ap\n"]])
@pytest.mark.parametrize("data", [b"pear\napple\n", b"", b"\xff\tx\n"])
def test_filters_of_standard_input(bwrap_backend: Backend, argv: list[str], data: bytes) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for words in (argv, ["tee", "-a", "a.txt"], ["sort"], ["head", "-n", "1", "-"], ["wc"], ["grep", "a"]):
            was, said = real.exec(words, stdin=data), sim.exec(words, stdin=data)
            assert (said.rc, said.out, said.err) == (was.rc, was.out, was.err), words
        assert real.snapshot().changes(sim.snapshot()) == ()


NAMES = st.sampled_from(
    [
        "a.txt",
        "b.csv",
        "conf",
        "conf/app.conf",
        "new",
        "new/deep",
        "link",
        "sealed",
        "sealed/in",
        "logs",
        "/etc/new",
        ".",
        "x y",
    ]
)
STEPS = st.one_of(
    st.tuples(st.sampled_from([("cp",), ("cp", "-r"), ("mv",), ("ln", "-s"), ("ln",), ("cp", "-a")]), NAMES, NAMES),
    st.tuples(
        st.sampled_from(
            [("rm",), ("rm", "-r"), ("rm", "-rf"), ("mkdir",), ("mkdir", "-p"), ("rmdir",), ("touch",), ("cat",)]
            + [("chmod", mode) for mode in ("0", "700", "u-w", "-R u+rwX".replace(" ", "\0"), "a+x", "500")]
            + [("ls", "-l"), ("sed", "-i", "s/a/b/"), ("test", "-w"), ("wc",), ("head", "-n", "1")]
        ),
        NAMES,
    ),
)


def words(step: tuple[tuple[str, ...], ...]) -> list[str]:
    head, *names = step
    return [word for part in head for word in part.split("\0")] + [str(name) for name in names]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=st.lists(STEPS.map(words), min_size=1, max_size=8))
def test_any_sequence_of_commands_ends_in_the_same_state(bwrap_backend: Backend, steps: list[list[str]]) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        real.seed(FIXTURE)
        sim.seed(FIXTURE)
        for argv in steps:
            try:
                said = sim.exec(argv)
            except UsageError:
                return
            was = real.exec(argv)
            was_said = re.sub(r"(temp file '.*).{6}'", r"\1XXXXXX'", was.err_text)
            assert (said.rc, said.out_text, said.err_text) == (was.rc, was.out_text, was_said), argv
        assert real.snapshot().changes(sim.snapshot()) == ()


def test_disk_and_files_run_out(bwrap_backend: Backend) -> None:
    big = {"big": SeedFile(data=b"x" * (9 * 2**20))}
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for box in (real, sim):
            box.seed(big)
            result = box.exec(["cp", "big", "second"])
            assert result.rc == 1
            assert "No space left on device" in result.err_text
        names = [f"f{number}" for number in range(4200)]
        for box in (real, sim):
            box.reset({})
            result = box.exec(["touch", *names])
            assert result.rc == 1
            assert "No space left on device" in result.err_text


@pytest.mark.parametrize(
    "argv",
    [["ls", "-i"], ["grep", "-A", "1", "x", "a"], ["sed", "y/a/b/", "a"], ["find", ".", "-delete"], ["stat", "a"]],
)
def test_what_the_simulation_lacks_is_an_error_not_an_answer(argv: list[str]) -> None:
    with SimSandbox(Limits()) as sim, pytest.raises(UsageError, match="lacks"):
        sim.exec(argv)


def test_every_simulated_tool_is_compared() -> None:
    compared = {shlex.split(line)[0] for line in COMMANDS} | {"tr", "tee", "sleep"}
    assert set(TOOLS) - compared == {"sha1sum", "sha512sum"}
