//! Shows where the values of a manifest come from.

use std::fmt::Write;
use std::path::Path;

use manifest_inputs::{Configs, Inputs};
use problem::Result;

/// The lines about all values at a path and below: path and place.
///
/// # Errors
/// As [`Inputs::apply`], and a path that leads nowhere.
pub fn places(inputs: &Inputs, configs: &Configs, manifest: &Path, path: &str) -> Result<String> {
    let manifest = inputs.apply_without_generation(configs, manifest)?;
    let places = manifest.places(path)?;
    let width = places.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (path, place) in places {
        let place = place.map_or_else(|| "-".to_owned(), |place| place.to_string());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{path:width$}  {place}");
    }
    Ok(text)
}
