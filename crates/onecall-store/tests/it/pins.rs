//! The pins of servers, which gateways share where the store is a database.

use onecall_core::Timestamp;
use onecall_core::storage::{FleetStore, PinStore, ReplacedVersion, StoredPins, WriteOutcome};

use crate::place::{Place, soon};

#[test]
fn the_first_pins_win_and_a_change_names_the_version_that_it_replaces() {
    let Some(place) = Place::database() else { return };
    let [one, other] = [(); 2].map(|()| place.open());
    let pins = |store: &dyn FleetStore| store.shared_pins().map(|pins| pins.pins("k").unwrap());
    let put = |store: &dyn FleetStore, content: &str, version| {
        let pins: &dyn PinStore = store.shared_pins().unwrap();
        pins.put_pins("k", content, ReplacedVersion::Exactly(version), Timestamp(1)).unwrap()
    };
    let number = || other.shared_pins().unwrap().pins_change_number().unwrap();
    assert_eq!(pins(&*one), Some(None));
    let before = number();
    assert_eq!(put(&*one, "a", None), WriteOutcome::Written { replaced: false });
    assert!(soon(|| number() != before));
    assert_eq!(put(&*other, "b", None), WriteOutcome::Conflict);
    assert_eq!(put(&*other, "c", Some(1)), WriteOutcome::Written { replaced: true });
    assert_eq!(put(&*one, "d", Some(1)), WriteOutcome::Conflict);
    assert_eq!(pins(&*one), Some(Some(StoredPins { content: "c".to_owned(), version: 2 })));
}

#[test]
fn a_file_has_no_pins() {
    assert!(Place::file().open().shared_pins().is_none());
}
