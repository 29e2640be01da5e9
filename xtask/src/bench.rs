//! .
pub fn run(_arguments: &[String]) -> Result<(), String> {
    Ok(())
}
