//! Images that a program shows beside its text.

use serde_json::{Value, json};

use crate::support::Gateway;

/// What an answer has beside its text.
fn images(gateway: &mut Gateway, code: &str) -> (Vec<Value>, String) {
    let answer = gateway.execute(code);
    let content = answer.raw["content"].as_array().unwrap();
    let images = content.iter().filter(|block| block["type"] != "text").cloned().collect();
    (images, answer.text)
}

#[test]
fn images_go_beside_the_text() {
    let mut gateway = Gateway::new();
    let code = "
        png = bytes.fromhex('89504e470d0a1a0a') + b'...'
        print('a chart:')
        display(png)
        display(b'\\xff\\xd8\\xff\\xe0')
        display('text', 5)
        class Figure:
            def savefig(self, file, format):
                file.write(png)
        display(Figure())
    ";
    let png = json!({ "type": "image", "data": "iVBORw0KGgouLi4=", "mimeType": "image/png" });
    let jpeg = json!({ "type": "image", "data": "/9j/4A==", "mimeType": "image/jpeg" });
    let (shown, text) = images(&mut gateway, code);
    assert_eq!(shown, [png.clone(), jpeg, png]);
    assert_eq!(text, "[Script executed successfully]\na chart:\ntext\n5\n");
}

#[test]
fn an_image_of_a_tool_can_be_shown() {
    let mut gateway = Gateway::new();
    let (shown, _) = images(&mut gateway, "image = await mcp__fixture__image()\ndisplay(image)");
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["type"], "image");
}

#[test]
fn typescript_shows_the_same_blocks() {
    let mut gateway = Gateway::new();
    let code = "
        const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 46, 46, 46]);
        console.log('a chart:');
        display(png);
        display(new Uint8Array([0xff, 0xd8, 0xff, 0xe0]).buffer);
        const image = await mcp__fixture__image();
        display(image);
    ";
    let answer = gateway.execute_typescript(code);
    let content = answer.raw["content"].as_array().unwrap();
    let shown: Vec<&Value> = content.iter().filter(|block| block["type"] != "text").collect();
    let png = json!({ "type": "image", "data": "iVBORw0KGgouLi4=", "mimeType": "image/png" });
    let jpeg = json!({ "type": "image", "data": "/9j/4A==", "mimeType": "image/jpeg" });
    let (of_tool, _) = images(&mut gateway, "image = await mcp__fixture__image()\ndisplay(image)");
    assert_eq!(shown, [&png, &jpeg, &of_tool[0]]);
    assert_eq!(answer.text, "[Script executed successfully]\na chart:\n");
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let mut gateway = Gateway::new();
    let unknown = gateway.fails("display(b'plain')");
    let expected = "ValueError: display() shows PNG, JPEG, GIF and WebP images; these bytes are \
                    none of them";
    assert!(unknown.ends_with(expected), "{unknown}");
    let large = gateway.fails("display(bytes.fromhex('89504e470d0a1a0a') + bytes(7_000_000))");
    let expected = "ValueError: a program can display 6 MiB in all; make the image smaller";
    assert!(large.ends_with(expected), "{large}");
}

#[test]
fn a_failure_keeps_what_was_shown() {
    let mut gateway = Gateway::new();
    let code = "display(bytes.fromhex('89504e470d0a1a0a'))\n1 / 0";
    let (shown, text) = images(&mut gateway, code);
    assert_eq!(shown.len(), 1);
    assert!(text.starts_with("[Script execution failed]\nTraceback"), "{text}");
}
