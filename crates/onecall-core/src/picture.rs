//! Pictures of foreign origin. What a server or a program says about the format does not count; the first
//! bytes do. Formats that can contain a script, such as SVG, are not among them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A format of pictures that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl PictureFormat {
    /// The format of these bytes, if it is one that is shown.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let starts = |start: &[u8]| bytes.starts_with(start);
        match bytes {
            _ if starts(b"\x89PNG\r\n\x1a\n") => Some(Self::Png),
            _ if starts(b"\xff\xd8\xff") => Some(Self::Jpeg),
            _ if starts(b"GIF87a") || starts(b"GIF89a") => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    /// The media type of the format.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// A picture that is safe to show: its format is known from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    format: PictureFormat,
    data: String,
}

impl Picture {
    /// The picture with these bytes in base64; `None` if they are not base64, or not a picture of a format
    /// that is shown.
    #[must_use]
    pub fn parse(data: String) -> Option<Self> {
        let format = PictureFormat::of(&STANDARD.decode(&data).ok()?)?;
        Some(Self { format, data })
    }

    /// The format of the picture.
    #[must_use]
    pub fn format(&self) -> PictureFormat {
        self.format
    }

    /// The bytes of the picture in base64.
    #[must_use]
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The bytes of the picture.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(&self.data).unwrap_or_default()
    }

    /// The picture as an address that contains it.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.format.media_type(), self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_of_a_picture_are_one() {
        let rows: [(&[u8], Option<&str>); 9] = [
            (b"\x89PNG\r\n\x1a\nrest", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg onload=alert(1)>", None),
            (b"<html>", None),
            (b"GIF8", None),
            (b"", None),
        ];
        for (bytes, expected) in rows {
            let picture = Picture::parse(STANDARD.encode(bytes));
            assert_eq!(picture.as_ref().map(|it| it.format().media_type()), expected, "{bytes:?}");
            assert!(picture.is_none_or(|picture| picture.bytes() == bytes));
        }
        assert_eq!(Picture::parse("\"><script>".to_owned()), None);
    }
}
