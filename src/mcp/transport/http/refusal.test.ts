// What a server says with a refusal is passed on without the credentials it was given.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { KnownSecrets } from "../../../base/text/secrets.js";
import { lossOf } from "./refusal.js";

function said(status: number, text: string): string {
  const response = new IncomingMessage(new Socket());
  response.statusCode = status;
  const secrets = new KnownSecrets();
  secrets.learn(["Bearer remote-secret", "remote-secret", "key-in-a-header", "blue"]);
  return lossOf(response, { text }, { nowMs: 0, hadCredentials: true, secrets }).error.message;
}

test.each([400, 403, 500, 503])("credentials that are said back are taken out: %i", (status) => {
  const message = said(status, "bad token Bearer remote-secret (remote-secret, key-in-a-header) for blue");
  expect(message).toContain("bad token [redacted] ([redacted], [redacted]) for blue");
});

test("they are taken out before the words are cut: no half of one is left", () => {
  const message = said(500, `${"x".repeat(195)} remote-secret`);
  expect(message).not.toContain("remo");
});

test("so is a token nobody wrote into the entry, and words about one stay", () => {
  expect(said(400, "Bearer abc.def123456 has expired")).toContain("Bearer [redacted] has expired");
  expect(said(400, "Bearer authentication required")).toContain("Bearer authentication required");
});
