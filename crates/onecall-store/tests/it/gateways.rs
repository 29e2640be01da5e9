//! The gateways that share a store.

use onecall_core::storage::StoredGateway;
use onecall_core::{GatewayId, Timestamp};

use crate::place::{Place, on_every_store};

const DAY: i64 = 24 * 60 * 60 * 1000;

on_every_store!(a_gateway_is_known_until_it_ends_or_a_day_later);

fn a_gateway_is_known_until_it_ends_or_a_day_later(place: &Place) {
    let (store, other) = (place.open(), place.open());
    let gateway = |until: i64| StoredGateway {
        id: GatewayId::generate(),
        address: "http://10.0.0.5:8808".to_owned(),
        until: Timestamp(until),
    };
    let (ended, killed) = (gateway(15_000), gateway(15_000));
    for gateway in [&ended, &killed] {
        store.put_gateway(gateway, Timestamp(0)).unwrap();
        assert_eq!(other.gateway(&gateway.id).unwrap().as_ref(), Some(gateway));
    }
    let renewed = StoredGateway { until: Timestamp(20_000), ..ended.clone() };
    store.put_gateway(&renewed, Timestamp(5_000)).unwrap();
    assert_eq!(other.gateway(&ended.id).unwrap(), Some(renewed));
    store.remove_gateway(&ended.id).unwrap();
    assert_eq!(other.gateway(&ended.id).unwrap(), None);
    // Nobody has removed the other one, which does not respond any more.
    other.put_gateway(&gateway(2 * DAY), Timestamp(DAY + 15_000)).unwrap();
    assert_eq!(store.gateway(&killed.id).unwrap(), Some(killed.clone()));
    other.put_gateway(&gateway(2 * DAY), Timestamp(DAY + 15_001)).unwrap();
    assert_eq!(store.gateway(&killed.id).unwrap(), None);
}
