//! Determines how time grows with size.

/// A size counts as beyond the constant part if it takes this many times as long as the smallest.
const BEYOND: f64 = 1.5;

/// A larger exponent is worse than linear; an error of ten percent over a decade makes 0.04.
const LINEAR: f64 = 1.1;

/// The growth of a series of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// The constant part hides any growth.
    Flat,
    /// Proportional to a power of the size.
    Power {
        /// The exponent for all sizes beyond the constant part, by least squares on the logarithms.
        exponent: f64,
        /// The exponent between the two largest sizes, where a change shows first.
        last: f64,
    },
}

impl Growth {
    /// Fits sizes and times, smallest size first. The time of the smallest is taken as the constant
    /// part and its one item; the other times are reduced by it.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let Some(&(least, constant)) = points.first() else { return Self::Flat };
        let logarithms: Vec<(f64, f64)> = points
            .iter()
            .filter(|(size, time)| *size > least && *time > constant * BEYOND)
            .map(|(size, time)| ((size - least).ln(), (time - constant).ln()))
            .collect();
        let [.., before, last] = logarithms.as_slice() else { return Self::Flat };
        Self::Power { exponent: slope(&logarithms), last: slope(&[*before, *last]) }
    }

    pub fn is_worse_than_linear(self) -> bool {
        matches!(self, Self::Power { exponent, last } if exponent > LINEAR || last > LINEAR)
    }
}

/// The slope of the line through these points, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    both / square
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 5] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0];

    fn growth(time: impl Fn(f64) -> f64) -> Growth {
        Growth::fit(&SIZES.map(|size| (size, time(size))))
    }

    fn exponent(growth: Growth) -> f64 {
        match growth {
            Growth::Power { exponent, .. } => exponent,
            Growth::Flat => f64::NAN,
        }
    }

    #[test]
    fn a_constant_part_does_not_hide_the_exponent() {
        assert!((exponent(growth(|size| 2.0 + size * 0.05)) - 1.0).abs() < 0.01);
        assert!((exponent(growth(|size| 2.0 + size.powi(2))) - 2.0).abs() < 0.05);
        assert!((exponent(growth(|size| 1e-3 + size.sqrt())) - 0.5).abs() < 0.1);
    }

    #[test]
    fn what_does_not_grow_is_flat() {
        assert_eq!(growth(|_| 2.0), Growth::Flat);
        assert_eq!(growth(|size| 2.0 + size * 1e-5), Growth::Flat);
        assert_eq!(Growth::fit(&[]), Growth::Flat);
    }

    #[test]
    fn a_bend_at_the_end_is_worse_than_linear() {
        assert!(!growth(|size| 2.0 + size).is_worse_than_linear());
        assert!(growth(|size| 2.0 + size + size * size * 1e-4).is_worse_than_linear());
    }
}
