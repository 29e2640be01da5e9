//! The figures as Markdown.

use std::fmt::Write;

use super::figures::{Figures, Prices, Traffic, saved};
use super::workflows::DATA_HEAVY;

/// What most models of the field can read at once.
const WINDOW: usize = 200_000;

/// All tables.
pub fn render(figures: &[Figures], prices: Prices) -> String {
    let sizes = sizes(figures);
    let mut text = String::from("### In total\n\n");
    push_totals(&mut text, figures, &sizes, prices);
    text.push_str("\n### Definitions\n\n");
    push_definitions(&mut text, figures, &sizes);
    for size in sizes {
        let _ = write!(text, "\n### {size} tools\n\n");
        push_workflows(&mut text, figures.iter().filter(|figures| figures.tools == size), prices);
    }
    let _ = write!(
        text,
        "\n• data-heavy: tools answer with at least {} tokens.  \n\
         † the longest request has more than {} tokens, which many models cannot read.\n",
        grouped(DATA_HEAVY),
        grouped(WINDOW),
    );
    text
}

/// The totals alone.
pub fn render_totals(figures: &[Figures], prices: Prices) -> String {
    let mut text = String::new();
    push_totals(&mut text, figures, &sizes(figures), prices);
    text
}

fn sizes(figures: &[Figures]) -> Vec<usize> {
    let mut sizes: Vec<usize> = figures.iter().map(|figures| figures.tools).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn push_totals(text: &mut String, figures: &[Figures], sizes: &[usize], prices: Prices) {
    text.push_str(
        "| tools | workflows | direct | onecall | saved | each token once | round trips | price | with a prompt cache |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for size in sizes {
        let of_size = || figures.iter().filter(|figures| figures.tools == *size);
        let heavy: Vec<&Figures> =
            of_size().filter(|figures| figures.workflow.is_data_heavy).collect();
        push_total(
            text,
            &format!("{size} | all {}", of_size().count()),
            &of_size().collect::<Vec<_>>(),
            prices,
        );
        if !heavy.is_empty() {
            push_total(text, &format!("{size} | {} data-heavy", heavy.len()), &heavy, prices);
        }
    }
}

fn push_total(text: &mut String, name: &str, figures: &[&Figures], prices: Prices) {
    let count = |of: fn(&Traffic) -> usize| {
        let sum =
            |way: fn(&Figures) -> &Traffic| figures.iter().map(|one| of(way(one))).sum::<usize>();
        (sum(|one| &one.direct), sum(|one| &one.onecall))
    };
    let dollars = |of: fn(&Traffic, Prices) -> f64| {
        let sum = |way: fn(&Figures) -> &Traffic| {
            figures.iter().map(|one| of(way(one), prices)).sum::<f64>()
        };
        format!("${:.2} → ${:.2}", sum(|one| &one.direct), sum(|one| &one.onecall))
    };
    let (tokens, once) = (count(Traffic::tokens), count(Traffic::once));
    let trips = count(|traffic| traffic.requests.len());
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {} → {} | {} | {} |",
        grouped(tokens.0),
        grouped(tokens.1),
        percent(tokens),
        percent(once),
        trips.0,
        trips.1,
        dollars(Traffic::price),
        dollars(Traffic::price_cached),
    );
}

/// What a model reads about tools before anything else, with every request.
fn push_definitions(text: &mut String, figures: &[Figures], sizes: &[usize]) {
    text.push_str("| tools | direct | onecall | fewer |\n|--:|--:|--:|--:|\n");
    for size in sizes {
        let of_size: Vec<&Figures> =
            figures.iter().filter(|figures| figures.tools == *size).collect();
        let mean = |of: fn(&Figures) -> usize| {
            of_size.iter().map(|one| of(one)).sum::<usize>() / of_size.len().max(1)
        };
        let pair = (mean(|one| one.direct.standing), mean(|one| one.onecall.standing));
        let _ = writeln!(
            text,
            "| {size} | {} | {} | {} |",
            grouped(pair.0),
            grouped(pair.1),
            percent(pair)
        );
    }
}

fn push_workflows<'a>(
    text: &mut String,
    figures: impl Iterator<Item = &'a Figures>,
    prices: Prices,
) {
    text.push_str(
        "| workflow | direct | onecall | saved | each token once | round trips | calls of the model | price | tool work |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Figures { workflow, direct, onecall, .. } in figures {
        let tokens = (direct.tokens(), onecall.tokens());
        let once = (direct.once(), onecall.once());
        let heavy = if workflow.is_data_heavy { " •" } else { "" };
        let beyond = if direct.longest() > WINDOW { " †" } else { "" };
        let _ = writeln!(
            text,
            "| {}{heavy} | {}{beyond} | {} | {} | {} | {} → {} | {} → {} | ${:.3} → ${:.3} | {} → {} |",
            workflow.name,
            grouped(tokens.0),
            grouped(tokens.1),
            percent(tokens),
            percent(once),
            direct.requests.len(),
            onecall.requests.len(),
            direct.calls,
            onecall.calls,
            direct.price(prices),
            onecall.price(prices),
            time(direct.seconds),
            time(onecall.seconds),
        );
    }
}

/// A share with one digit; where direct calls cost less it says so.
fn percent((direct, ours): (usize, usize)) -> String {
    let share = saved(direct, ours);
    if share < 0.0 {
        return format!("**direct is {:.1}% cheaper**", saved(ours, direct));
    }
    // 99.97 is not all of it.
    format!("{:.1}%", (share * 10.0).floor() / 10.0)
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// A number with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
