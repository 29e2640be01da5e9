//! A queue in which users take turns. The entries of one user are served in the order of their arrival;
//! after each, it is the next user's turn. One user's thousand entries delay another user's single entry
//! by one turn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The entries of all users that wait.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    entries: HashMap<Arc<str>, VecDeque<T>>,
    /// The users that have entries, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), turns: VecDeque::new(), len: 0 }
    }
}

impl<T> FairQueue<T> {
    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The users that have entries, in the order of their turns.
    pub(super) fn users(&self) -> impl Iterator<Item = &Arc<str>> {
        self.turns.iter()
    }

    /// Whether a queue for `limit` entries has no place for another one of `user`. In a full queue, each
    /// user has an equal share of the places.
    pub(super) fn is_full_for(&self, user: &str, limit: usize) -> bool {
        let own = self.of(user);
        let users = self.turns.len() + usize::from(own == 0);
        self.len >= limit && own >= limit / users.max(1)
    }

    /// Adds an entry, and returns how many entries are served before it if no others come.
    pub(super) fn push(&mut self, user: &str, entry: T) -> usize {
        let ahead = self.ahead(user);
        let user = match self.entries.get_key_value(user) {
            Some((known, _)) => Arc::clone(known),
            None => {
                let user: Arc<str> = user.into();
                self.turns.push_back(Arc::clone(&user));
                user
            }
        };
        self.entries.entry(user).or_default().push_back(entry);
        self.len += 1;
        ahead
    }

    /// How many entries would be served before the next entry of `user`: with each of the user's
    /// entries, the others have a turn.
    fn ahead(&self, user: &str) -> usize {
        let own = self.of(user);
        let place = self.turns.iter().position(|it| **it == *user).unwrap_or(self.turns.len());
        let others = self.turns.iter().enumerate().filter(|(_, other)| ***other != *user);
        let before = others.map(|(at, other)| self.of(other).min(own + usize::from(at < place)));
        own + before.sum::<usize>()
    }

    fn of(&self, user: &str) -> usize {
        self.entries.get(user).map_or(0, VecDeque::len)
    }

    /// The first entry of a user.
    pub(super) fn first(&self, user: &str) -> Option<&T> {
        self.entries.get(user)?.front()
    }

    /// The position of a user's first entry that `is_wanted` accepts.
    pub(super) fn position(&self, user: &str, is_wanted: impl Fn(&T) -> bool) -> Option<usize> {
        self.entries.get(user)?.iter().position(is_wanted)
    }

    /// Takes an entry out. This was the user's turn: the next one comes after those of all others.
    pub(super) fn remove(&mut self, user: &str, position: usize) -> Option<T> {
        let entry = self.entries.get_mut(user)?.remove(position)?;
        self.len -= 1;
        if let Some(at) = self.turns.iter().position(|it| **it == *user)
            && let Some(user) = self.turns.remove(at)
        {
            self.turns.push_back(user);
        }
        self.drop_empty();
        Some(entry)
    }

    /// Removes the entries that `is_kept` refuses. The turns of the users stay.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.entries.values_mut().for_each(|entries| entries.retain(|entry| is_kept(entry)));
        self.len = self.entries.values().map(VecDeque::len).sum();
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        self.entries.retain(|_, entries| !entries.is_empty());
        self.turns.retain(|user| self.entries.contains_key(user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everything out in the order of the turns.
    fn drain(queue: &mut FairQueue<u32>) -> Vec<u32> {
        let next = || {
            let user = queue.users().next().cloned()?;
            queue.remove(&user, 0)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn users_take_turns_and_each_has_its_own_order() {
        let mut queue = FairQueue::default();
        let ahead: Vec<_> = [("a", 1), ("a", 2), ("a", 3), ("b", 10), ("c", 20), ("b", 11)]
            .map(|(user, entry)| queue.push(user, entry))
            .into();
        assert_eq!(ahead, [0, 1, 2, 1, 2, 4]);
        assert_eq!(queue.len(), 6);
        assert_eq!(drain(&mut queue), [1, 10, 20, 2, 11, 3]);
        assert_eq!((queue.len(), queue.users().count()), (0, 0));
    }

    #[test]
    fn the_number_ahead_is_what_is_served_before() {
        for (users, mine) in
            [("aaaa", "b"), ("abab", "a"), ("aaabbc", "c"), ("cab", "b"), ("", "a")]
        {
            let mut queue = FairQueue::default();
            for user in users.chars() {
                queue.push(&user.to_string(), 0);
            }
            let ahead = queue.push(mine, 1);
            let served = drain(&mut queue).iter().position(|entry| *entry == 1);
            assert_eq!(Some(ahead), served, "{users} {mine}");
        }
    }

    #[test]
    fn a_thousand_entries_delay_another_user_by_one_turn() {
        let mut queue = FairQueue::default();
        for entry in 0..1_000 {
            queue.push("a", entry);
        }
        assert_eq!(queue.remove("a", 0), Some(0));
        assert_eq!(queue.push("b", 5_000), 1);
        assert_eq!(drain(&mut queue).get(..3), Some([1, 5_000, 2].as_slice()));
    }

    #[test]
    fn entries_that_leave_cost_no_turn() {
        let mut queue = FairQueue::default();
        for (user, entry) in [("a", 1), ("b", 10), ("a", 2), ("b", 11), ("c", 20)] {
            queue.push(user, entry);
        }
        queue.retain(|entry| ![1, 20].contains(entry));
        assert_eq!(queue.len(), 3);
        assert_eq!(drain(&mut queue), [2, 10, 11]);
    }

    #[test]
    fn of_a_full_queue_each_user_has_a_share() {
        let mut queue = FairQueue::default();
        (0..10).for_each(|entry| _ = queue.push("a", entry));
        assert!(queue.is_full_for("a", 10));
        for entry in 0..5 {
            assert!(!queue.is_full_for("b", 10));
            queue.push("b", entry);
        }
        assert!(queue.is_full_for("b", 10));
        assert!(!queue.is_full_for("c", 10));
        assert!(!queue.is_full_for("a", 100));
    }
}
