//! The gateways that share a store.

use onecall_core::storage::{StoredGateway, UsageByUser, UserUsage};
use onecall_core::{GatewayId, Timestamp, UserName};

use crate::place::{Place, on_every_store};

const DAY: i64 = 24 * 60 * 60 * 1000;

on_every_store!(
    a_gateway_is_known_until_it_ends_or_a_day_later,
    what_users_use_is_added_up_over_other_gateways,
);

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

fn what_users_use_is_added_up_over_other_gateways(place: &Place) {
    let store = place.open();
    let [one, two, ended] = [(); 3].map(|()| GatewayId::generate());
    for (id, until) in [(&one, 20), (&two, 20), (&ended, 9)] {
        let address = "http://10.0.0.5:8808".to_owned();
        let gateway = StoredGateway { id: id.clone(), address, until: Timestamp(until) };
        store.put_gateway(&gateway, Timestamp(0)).unwrap();
    }
    let usage = |users: &[(&str, u32, u32)]| -> UsageByUser {
        let usage = |(user, calls, programs): &(&str, u32, u32)| {
            let usage = UserUsage { calls: *calls, programs: *programs };
            (UserName::parse(user).unwrap(), usage)
        };
        users.iter().map(usage).collect()
    };
    let exchange =
        |id: &GatewayId, own: UsageByUser| store.exchange_usage(id, &own, Timestamp(10)).unwrap();
    assert_eq!(exchange(&ended, usage(&[("anna", 100, 100)])), usage(&[]));
    assert_eq!(exchange(&one, usage(&[("anna", 3, 1), ("ben", 1, 0)])), usage(&[]));
    assert_eq!(exchange(&two, usage(&[("anna", 4, 2)])), usage(&[("anna", 3, 1), ("ben", 1, 0)]));
    // A gateway that says again that it is alive keeps what its users use.
    let renewed = StoredGateway { id: two, address: String::new(), until: Timestamp(30) };
    store.put_gateway(&renewed, Timestamp(5)).unwrap();
    assert_eq!(exchange(&one, usage(&[])), usage(&[("anna", 4, 2)]));
    let third = GatewayId::generate();
    assert_eq!(exchange(&third, usage(&[])), usage(&[("anna", 4, 2)]));
}
