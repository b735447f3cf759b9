// What a server says at its end is quoted without the secrets it was started with, and otherwise as it was.
import { expect, test } from "vitest";
import { lastWords } from "./last-words.js";

const STARTED = {
  args: ["serve", "--api-key", "argument-secret", "--token=other-secret", "--verbose", "plain-word"],
  env: {
    API_TOKEN: "hunter2-and-more",
    LONG: "a1b2c3d4e5f6g7h8i9j0",
    MODE: "production",
    HOME: "/home/me",
    PIN_CODE: "1234",
  },
};

test.each([
  ["refused: hunter2-and-more", "refused: [redacted]"],
  ["argv --api-key argument-secret --token=other-secret", "argv --api-key [redacted] --token=[redacted]"],
  ["used a1b2c3d4e5f6g7h8i9j0 twice: a1b2c3d4e5f6g7h8i9j0", "used [redacted] twice: [redacted]"],
  ["cannot reach postgres://me:pass@db/x", "cannot reach postgres://me:[redacted]@db/x"],
])("without its secrets: %s", (said, quoted) => {
  expect(lastWords(said, STARTED)).toBe(quoted);
});

test.each(["", "no such file /home/me/x in production", "plain-word at 12345", "http://127.0.0.1:3000/mcp"])(
  "all else as it was: %j",
  (said) => {
    expect(lastWords(said, STARTED)).toBe(said);
  },
);

test("a secret that is a part of another does not leave the rest of it", () => {
  const env = { A_KEY: "secret", B_KEY: "secret-and-more" };
  expect(lastWords("secret-and-more, secret", { args: [], env })).toBe("[redacted], [redacted]");
});
