//! Two users never have names that people would take for one another.

use super::{Team, users};
use crate::support::finish;

#[test]
fn a_twin_of_a_known_user_is_not_let_in() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    assert_eq!(team.status(&team.token("Amélie", &key)), 200);
    let refused = (
        403,
        "Forbidden: another user has the same name in different letters; ask the administrator of \
         onecall\n"
            .to_owned(),
    );
    for twin in ["amélie", "AMÉLIE", "Ame\u{301}lie", "Ａｍéｌｉｅ"] {
        assert_eq!(team.refusal(&team.token(twin, &key)), refused, "{twin}");
        let ended = finish(team.gateway.home.onecall_with_config(&["users", "add", twin]));
        assert_eq!(ended.code, Some(1), "{twin}");
        assert!(
            ended.stderr.contains("the user 'Amélie' has a name that differs"),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(team.status(&team.token("Amélie", &key)), 200);
    assert_eq!(team.status(&team.token("Amelie", &key)), 200);
    assert!(team.gateway.stderr().contains("'amélie' is not let in: 'Amélie' is known"));
    // A removed user keeps the name.
    users(&team.gateway, &["remove", "Amelie"]);
    assert_eq!(team.refusal(&team.token("AMELIE", &key)), refused);
}

#[test]
fn invisible_characters_are_no_part_of_a_name() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    assert_eq!(team.status(&team.token("anna", &key)), 200);
    for name in ["an\u{200b}na", "anna\u{202e}", "anna ", "anna\n", "", "LOCAL"] {
        assert_eq!(team.status(&team.token(name, &key)), 401, "{name:?}");
    }
}
