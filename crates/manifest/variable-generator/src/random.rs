//! Passwords and users.

use sha_crypt::{Algorithm, Params, PasswordHasher, ShaCrypt};
use variables::{Password, User};

/// Letters of user names.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Characters of a user name.
const USERNAME: usize = 20;
/// Bytes of a salt, 16 characters.
const SALT: usize = 12;
/// The rounds that crypt(3) makes if a hash names none.
const ROUNDS: &str = "rounds=5000$";

/// A password.
///
/// # Errors
/// A system without random numbers.
pub(crate) fn password(password: &Password) -> Result<String, String> {
    let characters: Vec<char> = password.classes.iter().flat_map(|class| class.chars()).collect();
    loop {
        let chosen = pick(&characters, password.length)?;
        let has = |class: &String| class.chars().any(|character| chosen.contains(character));
        if !password.each_class || password.classes.iter().all(has) {
            return Ok(chosen);
        }
    }
}

/// A user's name, password, and the password's hash for `/etc/shadow`.
///
/// # Errors
/// As [`password`].
pub(crate) fn user(user: &User) -> Result<[String; 3], String> {
    let secret = password(&user.password)?;
    let name = match &user.username {
        Some(name) => name.clone(),
        None => pick(&LETTERS.chars().collect::<Vec<_>>(), USERNAME)?,
    };
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|e| e.to_string())?;
    let crypt = ShaCrypt::new(Algorithm::Sha512Crypt, Params::default());
    let hash = crypt.hash_password_with_salt(secret.as_bytes(), &salt).map_err(|e| e.to_string())?;
    let hash = hash.as_str().replacen(ROUNDS, "", 1);
    Ok([name, secret, hash])
}

/// So many characters, each of them equally probable.
fn pick(characters: &[char], count: usize) -> Result<String, String> {
    // There are at most 94. A byte beyond the last multiple of their number would favour the first ones.
    let limit = 256 - 256 % characters.len().max(1);
    let mut text = String::with_capacity(count);
    let mut bytes = [0; 64];
    let mut left = count;
    while left > 0 {
        getrandom::fill(&mut bytes).map_err(|e| e.to_string())?;
        let fair = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < limit);
        let chosen = fair.filter_map(|byte| characters.get(byte % characters.len()));
        for character in chosen.take(left) {
            text.push(*character);
            left -= 1;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_is_as_probable_as_another() {
        let characters: Vec<char> = ('!'..='~').collect();
        let text = pick(&characters, 94_000).unwrap();
        for character in characters {
            let count = text.matches(character).count();
            // More than ten standard deviations.
            assert!((680..1_320).contains(&count), "{character}: {count}");
        }
    }
}
