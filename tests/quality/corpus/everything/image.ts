const result: any = await mcp__everything__get_tiny_image();
const image = result.find((part: any) => part.type === "image");
console.log(image.mimeType);
