//! The tools that servers listed last.

use onecall_core::Timestamp;
use onecall_core::storage::*;
use onecall_store::read_listings;

use crate::place::{Place, on_every_store};

on_every_store!(
    a_listing_stays_until_another_one_comes_or_it_is_forgotten,
    listings_are_limited_in_size_and_number,
);

pub(crate) fn listing(length: usize, seen: i64) -> StoredListing {
    StoredListing { tools: "x".repeat(length), seen: Timestamp(seen) }
}

/// The number that a test has for an entry, as its key.
pub(crate) fn entry(number: u16) -> ListingKey {
    let mut key = [0; 32];
    key[..2].copy_from_slice(&number.to_le_bytes());
    key
}

fn a_listing_stays_until_another_one_comes_or_it_is_forgotten(place: &Place) {
    let store = place.open();
    let at = |key: u16, now: i64| store.listing(&entry(key), Timestamp(now)).unwrap();
    store.put_listing(&entry(1), "s", &listing(1, 10)).unwrap();
    store.put_listing(&entry(1), "s", &listing(2, 20)).unwrap();
    store.put_listing(&entry(2), "s", &listing(3, 30)).unwrap();
    store.put_listing(&entry(3), "t", &listing(4, 30)).unwrap();
    assert_eq!(at(1, 20), Some(listing(2, 20)));
    // One from the future is of a clock that was set back.
    assert_eq!(at(1, 19), None);
    let keys = [entry(3), entry(9), entry(1)];
    let read = read_listings(&place.location(), &keys, Timestamp(50));
    assert_eq!(read, [Some(listing(4, 30)), None, Some(listing(2, 20))]);
    store.forget_listing(&entry(3)).unwrap();
    store.forget_listings_of("s").unwrap();
    assert_eq!([at(1, 50), at(2, 50), at(3, 50)], [None, None, None]);
}

fn listings_are_limited_in_size_and_number(place: &Place) {
    let store = place.open();
    let too_large = store.put_listing(&entry(1), "s", &listing(MAX_LISTING_BYTES + 1, 0));
    assert!(matches!(too_large, Err(StoreError::TooLarge { .. })), "{too_large:?}");
    let has = |key: u16| store.listing(&entry(key), Timestamp(1_000)).unwrap().is_some();
    for key in 1..=10 {
        store.put_listing(&entry(key), "s", &listing(1, i64::from(key))).unwrap();
    }
    let kept: Vec<u16> = (1..=10).filter(|key| has(*key)).collect();
    assert_eq!(kept, [3, 4, 5, 6, 7, 8, 9, 10]);
    // Nine of the largest are more than all together may take.
    for key in 11..=19 {
        let large = listing(MAX_LISTING_BYTES, i64::from(key));
        store.put_listing(&entry(key), &key.to_string(), &large).unwrap();
    }
    let kept: Vec<u16> = (1..=19).filter(|key| has(*key)).collect();
    assert_eq!(kept, [12, 13, 14, 15, 16, 17, 18, 19]);
}
