#!/bin/bash
# A file that nobody explained: described, trained on, saved, scored.
source "$(dirname "$0")/cli_test_lib.sh"

# Odd names, missing values, text ids, bags; the label follows shelf and price.
python3 - <<'PY'
import random

random.seed(3)
with open("visits.csv", "w") as file:
    file.write("Visit No;was bought?;price €;shelf;visitor;seen\n")
    for i in range(3000):
        shelf, price = random.choice(["top", "low", "end of aisle"]), random.randint(1, 900) / 4
        bought = random.random() < (0.7 if shelf == "top" else 0.2)
        price = "" if i % 10 == 0 else price
        seen = "|".join(str(random.randint(0, 40)) for _ in range(i % 4))
        file.write(f"{i};{int(bought)};{price};{shelf};u{random.randint(0, 300)};{seen}\n")
PY

run 0 describe visits.csv -o visits.json --json columns.json
has out "csv, delimiter ';', 3,000 rows, 6 columns"
has out "bags of whole numbers"
has out 'Visit No is unused: no value comes twice'
has out "tessera train --config visits.json --data visits.csv --train-rows 0:2700"
json columns.json 'd["described_rows"] == 3000 and d["all"]'
json columns.json '[c["role"] for c in d["columns"]][1:3] == ["label", "dense"]'
json columns.json 'd["columns"][3]["most_frequent"][0]["items"] > 900'

# ---- what it proposes trains, and learns what there is to learn
run 0 train --config visits.json --data visits.csv --train-rows 0:2700 --eval-rows 2700:3000 \
  --epochs 3 --checkpoint visits.safetensors --json trained.json
json trained.json 'd["auc"] > 0.65'

# ---- the command that it prints trains where names have spaces and quotes, too
cp visits.csv "all visits 'x'.csv"
run 0 describe "all visits 'x'.csv" -o "all visits.json"
train=$(grep '^  tessera train ' out)
rm -f trained.json
eval "run 0 ${train#  tessera } --json trained.json"
json trained.json 'd["rows"] == 2700'

# ---- one feature and no number: a model that takes that trains too
awk 'BEGIN { srand(2); print "stadt,click"; for (n = 0; n < 4000; n++) {
  stadt = int(rand() * 5); print "s" stadt "," (rand() < 0.04 + 0.23 * stadt) } }' > stadt.csv
run 0 describe stadt.csv -o stadt.json
run 0 train --config stadt.json --data stadt.csv --train-rows 0:3000 --eval-rows 3000:4000 \
  --epochs 5 --json stadt_trained.json
json stadt_trained.json 'd["auc"] > 0.65'

# ---- Criteo's columns are known by their kinds, and proposed as its format
run 0 generate --rows 2000 --vocabulary 50 clicks.tsv
run 0 describe clicks.tsv -o criteo.json
has out "These are Criteo's columns: a label, 13 whole numbers, 26 ids of hexadecimal digits."
json criteo.json 'd["data"] == {"format": "criteo"} and d["model"]["dense_in"] == 13'
json criteo.json '[t["features"][0] for t in d["tables"]] == [f"cat_{i}" for i in range(26)]'
run 0 train --config criteo.json --data clicks.tsv --train-rows 0:1800 --eval-rows 1800:2000
cut -f 1-39 clicks.tsv >short.tsv
run 0 describe short.tsv
lacks out "Criteo"

# ---- times stand in full, with their dates
awk 'BEGIN { print "click,shop,seen_at,ms"; for (n = 0; n < 300; n++)
  print n % 2 "," n % 7 "," 1700000000 + 60 * n "," 1700000000000 + 60000 * n }' >times.csv
run 0 describe times.csv --json times.json
has out "1700000000 … 1700017940"
has out "seen_at: seconds since 1970, from 2023-11-14T22:13:20Z to 2023-11-15T03:12:20Z"
has out "ms: milliseconds since 1970, from 2023-11-14T22:13:20Z"
json times.json '"2023-11-14T22:13:20Z" in d["columns"][2]["note"]'

# ---- numbers but for a word say which --null makes them numbers
awk 'BEGIN { print "click,age,grade"; for (n = 0; n < 300; n++)
  print n % 2 "," (n % 30 ? n % 90 : (n % 60 ? "N/A" : "-")) "," (n % 3 ? n % 3 : "low")
}' > ages.csv
run 0 describe ages.csv
has out 'age: numbers but for - (2 %) and N/A (2 %): --null - --null N/A'
lacks out 'grade: numbers but for'
run 0 describe ages.csv --null - -o ages.json --json ages_columns.json
has out 'age: numbers but for N/A (2 %): --null N/A'
json ages_columns.json '"--null N/A" in d["columns"][1]["note"]'
run 0 describe ages.csv --null - --null N/A --json all_null.json
json all_null.json 'd["columns"][1]["role"] == "dense" and "note" not in d["columns"][1]'
json ages_columns.json 'd["columns"][1]["role"] == "feature" and "note" not in d["columns"][2]'

# ---- a label of many numbers says where 1 begins, padded numbers that they are texts
awk 'BEGIN { print "y,shop,plus,far"; for (n = 0; n < 300; n++)
  print n - 100 ".5," n % 7 ",+" n % 90 ".5," \
    (n % 9 ? n ".5" : (n % 2 ? "inf" : n % 4 ? "nan" : "-inf"))
}' > real.csv
run 0 describe real.csv --json real.json
has out 'y: the label, whose numbers become 1 from 20.5 on, and 0 below; for regression take'
has out 'take "at_least" out and give the task the loss mse'
has out "plus: numbers with a + before or blanks around (100 %), which are read as texts: write 3.5"
has out 'far: numbers but for -inf (3 %) and inf (6 %) and nan (3 %): --null -inf --null inf'
json real.json '"from 20.5 on" in d["columns"][0]["note"] and d["not_read"] == []'

# ---- a vector is one dense number with a size; objects are named
python3 - <<'PY'
import json, random

random.seed(5)
with open("vectors.jsonl", "w") as file:
    for i in range(400):
        row = {"click": i % 2, "emb": [round(random.gauss(i % 2, 9), 3) for _ in range(4)],
               "age": i % 90 + 0.5, "user": f"u{i % 40}", "ctx": {"hour": i % 24}}
        file.write(json.dumps(row) + "\n")
PY
run 0 describe vectors.jsonl -o vectors.json --json vectors_columns.json
has out 'ctx is not read: it holds JSON objects; write what they hold as keys of the line itself'
json vectors_columns.json 'd["not_read"] == ["ctx"]'
json vectors.json '[e.get("size") for e in d["data"]["dense"]] == [4, None]'
json vectors.json 'd["model"]["dense_in"] == 5 and [t["name"] for t in d["tables"]] == ["t_user"]'
run 0 train --config vectors.json --data vectors.jsonl --train-rows 0:300 --eval-rows 300:400 \
  --epochs 9 --json vectors_trained.json
json vectors_trained.json 'd["auc"] > 0.9'

# ---- decimal commas, cells that are no UTF-8, words as labels: what to do is said
python3 - <<'PY'
import random

random.seed(4)
with open("odd.csv", "wb") as file:
    file.write(b"bought;price;city;both;seen\n")
    for i in range(400):
        yes, city = random.random() < 0.4, random.choice([b"K\xf6ln", b"Bonn", b"Ulm"])
        price = f"{random.randint(1, 99)},{random.randint(10, 99)}".encode()
        pair = random.choice([b"3,5", b"7,9", b"4"])
        file.write(b";".join([b"yes" if yes else b"no", price, city, pair, b"1,2,3"]) + b"\n")
PY
run 1 describe odd.csv --label bought
has err 'it has the words no and yes: labels are numbers, so write 0 and 1 for them'
run 0 describe odd.csv --json odd.json
has out 'price: numbers with a decimal comma (100 %), which are read as texts: write 3.5 for 3,5'
has out 'both: numbers with a decimal comma ('
has out "city: $(grep -c -a 'ln;' odd.csv) cells are not UTF-8, the first in odd.csv:"
has out 'bought: by its name a label, but of words: labels are numbers, such as 1 for yes'
has out 'bags of whole numbers'
json odd.json '"decimal comma" in d["columns"][1]["note"] and "UTF-8" in d["columns"][2]["note"]'
sed 's/^yes;/1;/; s/^no;/0;/' odd.csv >odd_labels.csv
run 0 describe odd_labels.csv -o odd_config.json  # a column that is no UTF-8 has text ids
has odd_config.json '{"name":"city","ids":"text"}'
run 0 train --config odd_config.json --data odd_labels.csv --json odd_trained.json
printf '{"a": "x", "b": true}\n{"a": "y", "b": false}\n{"a": "x", "b": true}\n' >truth.jsonl
run 0 describe truth.jsonl --json truth.json
json truth.json '[c["role"] for c in d["columns"]] == ["feature", "label"]'

# ---- dates, words with commas or the delimiter inside, quotes that go over lines
python3 - <<'PY'
import random

random.seed(6)
with open("orders.csv", "w") as file:
    file.write('When;Day;Tags;"Product";Name;clicked\n')
    for i in range(300):
        tags = ",".join(random.sample(["new", "sale", "öko", "xl"], i % 4))
        product = random.choice(["Lamp", '"Chair; large"', '"Table ""Oak"""'])
        name = random.choice(["Ann, Bob", "Bob, Cem", "Cem, Ann", "Ann", "Bob, Ann", "Ann, Cem"])
        file.write(f"2024-01-{i % 28 + 1:02} {i % 24:02}:00;{i % 28 + 1}.1.2024;{tags};{product};"
                   f"{name};{i % 2}\n")
PY
run 0 describe orders.csv -o orders.json --json orders_columns.json
has out 'When: dates, which are read as texts'
has out 'Day: dates, which are read as texts'
json orders_columns.json '[c["kind"] for c in d["columns"]][:2] == ["text", "text"]'
json orders_columns.json '[c.get("separator") for c in d["columns"]][2:5] == [",", None, ", "]'
has orders.json '{"name":"Tags","vocabulary":["'
has orders.json 'Chair; large'
printf 'a;b\n1;"two\nlines"\n' >split.csv
run 1 describe split.csv
has err 'split.csv:2: column 2: a quote does not end in its line, which a row is'

# ---- a comma that may be one between thousands
printf 'clicked;revenue\n1;11,129\n0;950\n1;2,004\n' >thousands.csv
run 0 describe thousands.csv --delimiter ';'
has out 'revenue: numbers with a comma before three digits (67 %), which are read as texts: write \
11129 for 11,129 if it is between thousands, 11.129 if it is a decimal comma'

# ---- a decimal comma beside a word for a missing number; a label by its values, which rows lack
awk 'BEGIN { print "preis;gekauft;retour"; for (n = 0; n < 400; n++)
  print (n % 9 ? n % 90 "," n % 7 : "k. A.") ";" (n % 2 ? "ja" : "nein") ";" \
    (n % 4 ? "" : n % 8 / 4) }' > preise.csv
run 0 describe preise.csv
has out "preis: numbers but for k. A. (11 %): --null 'k. A.'"
has out 'preis: numbers with a decimal comma (89 %)'
has out 'retour: the label, by its values alone (--label COLUMN names another); 75 % of the rows'

# ---- files as a configuration reads them: a heading with a number, a separator that none guesses
cat > read.json <<'END'
{"data": {"format": "csv", "delimiter": "!", "null": "nil",
          "features": [{"name": "seen", "separator": "~"}], "labels": ["2024"]},
 "tables": [{"name": "t", "rows": 9, "dim": 4, "features": ["seen"]}],
 "model": {"type": "deepfm", "dense_in": 0, "deep_fm_dim": 4},
 "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
 "train": {"batch_size": 2}}
END
printf '2024!seen\n1!3~4\n0!nil\n1!5~6\n' > read.txt
run 0 describe read.txt --config read.json --label 2024 --json read_columns.json -o read_again.json
json read_columns.json '[c["name"] for c in d["columns"]] == ["2024", "seen"]'
json read_columns.json '(d["columns"][1]["separator"], d["columns"][1]["missing"]) == ("~", 1)'
has read_again.json '"delimiter": "!"'
run 1 describe read.txt --config small.json
has err 'small.json: its data.format is planted: expected jsonl, csv or tsv'
run 1 describe read.txt --config read.json --null x
has err '--config excludes --null'

# ---- items without a text are no ids
awk 'BEGIN { print "seen;y"; for (n = 0; n < 400; n++)
  print "w" n % 150 "|w" n % 7 (n % 80 == 9 ? "|" : "") ";" n % 2 }' > empty.csv
run 0 describe empty.csv -o empty.json
has out 'seen: 5 items are empty, as behind a separator too many, and no id: training refuses such'
has out 'tessera train --config empty.json --data empty.csv --skip-bad-lines'
run 0 train --config empty.json --data empty.csv --skip-bad-lines
has out 'left out 5 bad lines'
run 1 train --config empty.json --data empty.csv

# ---- a column that is filled after the click tells the label
awk 'BEGIN { print "shop,click,paid"; for (n = 0; n < 900; n++)
  print "s" n % 7 "," (n % 3 == 0) "," (n % 3 ? "" : n % 90 + 0.5) }' > paid.csv
run 0 describe paid.csv --json paid.json
has out 'paid may tell the label: it is empty nearly only where the label is 0; leave it out'
lacks out 'shop may tell'
json paid.json '["leak" in c for c in d["columns"]] == [False, False, True]'

# ---- without -o it prints the configuration
run 0 describe visits.csv --label 'was bought?'
has out '"was bought?"'
has out '"tables": ['

# ---- what cannot be proposed is said, and nothing is lost
printf 'a,b\nx,y\nz,y\nx,w\n' > no_label.csv
run 0 describe no_label.csv
has out "No configuration is proposed: no column looks like a label"
has out "with 0 and 1 for their words these could be labels: 'a' (x, z), 'b' (w, y)"
run 1 describe no_label.csv -o none.json
has err "no column looks like a label"
[ ! -e none.json ] || fail "none.json was written"
run 1 describe visits.csv -o visits.json
has err "visits.json"
cat visits.csv | "$tessera" describe - --format csv >out 2>err && fail "it described a pipe"
has err "this can be read only once"
run 1 describe visits.csv --format npz
has err "--format: expected jsonl, csv or tsv, got 'npz'"

# ---- times are proposed as the schema's time, by names and by values, and never as numbers
python3 - <<'PY'
import random

random.seed(6)
def write(name, time_of, heading="user;Gekauft am (ts);y", rows=1500):
    with open(name, "w") as file:
        file.write(heading + "\n")
        for i in range(rows):
            file.write(f"{random.randint(0, 90)};{time_of(i)};{random.randint(0, 1)}\n")

anywhere = lambda i: 1700000000 + random.randint(0, 9999999)
write("words.csv", anywhere)
write("millis.csv", lambda i: anywhere(i) * 1000, "user;eventTime;y")
write("days.csv", lambda i: 20240100 + random.randint(1, 31), "user;sale-date;y")
write("rising.csv", lambda i: 1700000000 + i // 3 * 60, "user;spalte 7;y")
write("named.csv", lambda i: i // 2, "user;TS;y")
write("unsorted.csv", lambda i: 1700000000 + random.randint(0, 500) * 3600, "user;spalte 7;y")
write("customers.csv", lambda i: 1700000000 + i // 3 * 60, "user;customer_id;y")
write("durations.csv", lambda i: random.randint(0, 5000), "user;watch_time;y")
write("gaps.csv", lambda i: anywhere(i) if i % 5 else "", "user;created_at;y")
write("fractions.csv", lambda i: anywhere(i) + 0.5, "user;created_at;y")
with open("two.csv", "w") as file:
    file.write("user,arrived,ts,y\n")
    for i in range(1500):
        file.write(f"{i % 70},{1600000000 + 60 * (i // 2)},{1700000000 + 60 * (i // 2)},{i % 2}\n")
PY
for name in words millis days rising named; do
  run 0 describe $name.csv -o $name.json --json columns.json
  json columns.json '[c["role"] for c in d["columns"]] == ["feature", "time", "label"]'
  json $name.json 'd["data"]["time"] == '"'$(head -1 $name.csv | cut -d';' -f2)'"
  json $name.json '"dense" not in d["data"] and d["model"]["dense_in"] == 0'
  run 0 train --config $name.json --data $name.csv --set 'data.split={"by": "time"}'
  has out "split by time, rows from"
done
for name in unsorted customers durations; do
  run 0 describe $name.csv --json columns.json
  json columns.json 'd["columns"][1]["role"] in ("dense", "feature")'
done
run 0 describe gaps.csv
has out "created_at is unused: it has times, but not in 300 rows, and no row may lack it"
run 0 describe fractions.csv
has out "created_at is unused: it has times with a fraction, but the time of a schema is a whole"
run 0 describe two.csv -o two.json
has out "arrived is unused: ts is the time"
json two.json 'd["data"]["time"] == "ts"'

# ---- the index that pandas writes below no name
awk 'BEGIN { print ",user,y"; for (n = 0; n < 300; n++) print n "," n % 20 "," (n % 3 == 0) }' \
  >index.csv
run 0 describe index.csv -o index.json
has out "(no name) is unused: the heading gives it no name."
run 0 train --config index.json --data index.csv --dry-run

# ---- rows that alternate are sampled as those in any order are
awk 'BEGIN { srand(7); print "rating,x,id"; for (n = 0; n < 20000; n++)
  printf "%d,%.3f,%d\n", n % 2 ? 1 + rand() * 2 : 4 + rand() * 2, rand() - 20 * (n % 2),
    rand() * 300 }' > alternate.csv
run 0 describe alternate.csv -o alternate.json --json columns.json
json columns.json '2048 <= d["columns"][1]["histogram_counts"] < 4096'
json columns.json 'sum(d["columns"][1]["histogram"]) == d["columns"][1]["histogram_counts"]'
json columns.json '0.45 < (lambda c: c["histogram"][0] / c["histogram_counts"])(
  d["columns"][1]) < 0.55'
json alternate.json 'd["data"]["labels"][0]["at_least"] == 4'
json alternate.json 'abs(d["data"]["dense"][0]["normalize"][0] + 9.5) < 0.5'
json alternate.json 'abs(d["data"]["dense"][0]["normalize"][1] - 10) < 0.5'

# ---- one number that is written in two ways is one value
awk 'BEGIN { print "half,zero,y,id"; for (n = 0; n < 300; n++)
  print (n % 2 ? "0.5" : "0.50") "," (n % 3 ? "0.0" : "-0.0") "," (n % 5 ? "1" : n % 2) "," n % 20
  }' >ways.csv
run 0 describe ways.csv --json columns.json
json columns.json '[c["distinct"] for c in d["columns"]] == [1, 1, 2, 20]'
json columns.json '[c["role"] for c in d["columns"]][:2] == ["unused", "unused"]'
has out "half is unused: it is the same in every row"
