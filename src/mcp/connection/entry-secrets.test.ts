// What a server says is quoted without the secrets of its own entry, and otherwise as it was.

import { expect, test } from "vitest";
import { MemoryGrants } from "../../testing/lab/index.js";
import type { RemoteSpec, StdioSpec } from "../spec.js";
import { entrySecrets } from "./entry-secrets.js";

const STARTED: StdioSpec = {
  kind: "stdio",
  name: "s",
  command: "server",
  args: ["serve", "--api-key", "argument-secret", "--token=other-secret", "--verbose", "plain-word"],
  env: {
    API_TOKEN: "hunter2-and-more",
    LONG: "a1b2c3d4e5f6g7h8i9j0",
    MODE: "production",
    REGION: "eu-central-1",
    AUTH_MODE: "disabled",
    AUTH_ENABLED: "true",
    KEY_COUNT: "1",
    DATA: "/home/me/data-2026",
    PIN_CODE: "1234",
  },
};

const REMOTE: RemoteSpec = {
  kind: "http",
  name: "r",
  url: "https://me:url-pass%21word@example.com/mcp?api_key=in-the-address&page=overview",
  headers: {
    Authorization: "Bearer header-secret",
    "X-Team": "blue-team",
    "X-Api-Version": "2026-11-15",
    "X-Thing": "x91-thing-77",
    Accept: "a/b-c-1",
  },
  auth: { type: "bearer", token: "bearer-secret" },
};

test.each([
  ["refused: hunter2-and-more", "refused: [redacted]"],
  ["argv --api-key argument-secret --token=other-secret", "argv --api-key [redacted] --token=[redacted]"],
  ["used a1b2c3d4e5f6g7h8i9j0 twice: a1b2c3d4e5f6g7h8i9j0", "used [redacted] twice: [redacted]"],
  ["cannot reach postgres://me:pass@db/x", "cannot reach postgres://[redacted]@db/x"],
])("of a process, without its secrets: %s", (said, quoted) => {
  expect(entrySecrets(STARTED, {}).clean(said)).toBe(quoted);
});

test.each([
  "",
  "no such file /home/me/data-2026 in production, eu-central-1",
  "1 of 1 is true: disabled",
  "plain-word at 12345",
  "http://127.0.0.1:3000/mcp",
])("all else as it was: %j", (said) => {
  expect(entrySecrets(STARTED, {}).clean(said)).toBe(said);
});

test("of a remote server: headers, token, and what its address holds", () => {
  const said = "header-secret (Bearer header-secret), bearer-secret, url-pass!word, in-the-address, x91-thing-77";
  expect(entrySecrets(REMOTE, {}).clean(said)).toBe(
    "[redacted] ([redacted]), [redacted], [redacted], [redacted], [redacted]",
  );
  const plain = "overview of blue-team at example.com in a/b-c-1 of 2026-11-15";
  expect(entrySecrets(REMOTE, {}).clean(plain)).toBe(plain);
});

test("what was fetched for it, and what it logs in with", () => {
  const settings = { clientSecret: "client-secret-1", assertion: "assertion-words", privateKey: "the-private-key" };
  const oauth = { store: new MemoryGrants(), account: "default", settings };
  const known = entrySecrets(REMOTE, {
    secrets: ["from the keyring", "blue", "/home/me/project", "https://api.example.com"],
    oauth,
  });
  expect(known.clean("from the keyring, client-secret-1, assertion-words, the-private-key: blue")).toBe(
    "[redacted], [redacted], [redacted], [redacted]: blue",
  );
  const places = "no /home/me/project/a.txt at https://api.example.com/x";
  expect(known.clean(places)).toBe(places);
});
