#!/bin/bash
# Groups of users that like groups of items, and a few items that everybody likes: the towers find
# the groups, a list of what is popular can't.
two_tower="$TEST_SRCDIR/$TEST_WORKSPACE/examples/two_tower/two_tower"
cd "$TEST_TMPDIR" || exit 1

# Like u.data: user, item, rating, time. 300 users in 6 groups; group g likes items 100g + 1 to
# 100g + 30, of which each user has rated 20, and dislikes one of the next group.
awk 'BEGIN {
  srand(7)
  for (user = 1; user <= 300; ++user) {
    group = user % 6
    for (i = 0; i < 30; ++i) order[i] = i + 1
    for (i = 29; i > 0; --i) {
      j = int(rand() * (i + 1)); t = order[i]; order[i] = order[j]; order[j] = t
    }
    for (i = 0; i < 20; ++i)
      printf "%d\t%d\t%d\t%d\n", user, 100 * group + order[i], 4 + int(2 * rand()), 1000 + i
    printf "%d\t%d\t1\t2000\n", user, 100 * ((group + 1) % 6) + order[0]
  }
}' >ratings

"$two_tower" --data ratings --epochs 25 >out 2>err ||
  { cat out err; echo "FAILED: not better than what is popular"; exit 1; }
cat out
grep -q "300 users, 180 items, 4800 likes to train on; each user's last ones are held out" out ||
  { echo "FAILED: first line"; exit 1; }
[ "$(grep -c 'nearest to item' out)" -eq 5 ] || { echo "FAILED: nearest items"; exit 1; }
# Of a user's 14 unseen items of the group, 4 are held out: chance in the group is 10 of 14.
awk '/^recall@10/ { if (!($4 > 0.5 && $4 > 3 * $7)) exit 1 }' out ||
  { echo "FAILED: recall"; exit 1; }
# An item is nearest to those of its own group.
awk '/^nearest/ {
  split($4, a, ":")
  for (i = 5; i <= NF; ++i) if (int($i / 100) != int(a[1] / 100)) exit 1
}' out ||
  { echo "FAILED: a nearest item of another group"; exit 1; }

"$two_tower" >out 2>err && { echo "FAILED: no data is no error"; exit 1; }
grep -q "usage: two_tower --data RATINGS" err || { echo "FAILED: usage"; exit 1; }
