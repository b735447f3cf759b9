// Questions of the model on the wire: as a form or as a choice, valid by the protocol, and answers mapped back.
import type { AgentContext } from "@agentclientprotocol/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../base/json/json.js";
import { acpSchemaValidator } from "../testing/index.js";
import { askPerson } from "./ports.js";

const NEVER = new AbortController().signal;
const OPTIONS = [{ label: "red", description: "warm" }, { label: "blue" }];

/** A client that answers every question the same way. */
function asking(forms: boolean, answer: () => unknown) {
  const sent: { method: string; params: JsonObject }[] = [];
  const client = {
    request: async (method: string, params: object) => {
      sent.push({ method, params: JSON.parse(JSON.stringify(params)) });
      return answer();
    },
  };
  return { ask: askPerson(asClient(client), "s-1", { forms }), sent };
}

/** Questions need one method of it. */
function asClient(client: object): AgentContext {
  const isClient = (value: object): value is AgentContext => "request" in value;
  if (!isClient(client)) throw new Error("no client");
  return client;
}

const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });

test.each([
  [
    { action: "accept", content: { answer: "blue" } },
    { kind: "chosen", label: "blue" },
  ],
  [
    { action: "accept", content: { answer: "green" } },
    { kind: "typed", text: "green" },
  ],
  [{ action: "accept", content: { answer: 5 } }, { kind: "declined" }],
  [{ action: "accept", content: null }, { kind: "declined" }],
  [{ action: "accept" }, { kind: "declined" }],
  [{ action: "decline" }, { kind: "declined" }],
  [{ action: "cancel" }, { kind: "declined" }],
])("of a form %j means %j", async (response, answer) => {
  expect(await asking(true, () => response).ask("Which?", OPTIONS, NEVER)).toEqual(answer);
});

test.each([
  [selected("0"), { kind: "chosen", label: "red" }],
  [selected("1"), { kind: "chosen", label: "blue" }],
  [selected("none"), { kind: "declined" }],
  [selected("2"), { kind: "declined" }],
  [selected("-1"), { kind: "declined" }],
  [{ outcome: { outcome: "cancelled" } }, { kind: "declined" }],
])("of a choice %j means %j", async (response, answer) => {
  expect(await asking(false, () => response).ask("Which?", OPTIONS, NEVER)).toEqual(answer);
});

test("a question stands on the card of its call; without one, each choice has an id of its own", async () => {
  const { ask, sent } = asking(false, () => selected("0"));
  await ask("Which?", OPTIONS, NEVER, "1-7");
  await ask("Which?", OPTIONS, NEVER);
  await ask("Which?", OPTIONS, NEVER);
  const ids = sent.map(({ params }) => JSON.parse(JSON.stringify(params["toolCall"])).toolCallId);
  expect(ids[0]).toBe("1-7");
  expect(new Set(ids).size).toBe(3);
  const form = asking(true, () => ({ action: "decline" }));
  await form.ask("Which?", OPTIONS, NEVER, "1-7");
  await form.ask("Which?", OPTIONS, NEVER);
  expect(form.sent.map(({ params }) => params["toolCallId"])).toEqual(["1-7", undefined]);
});

test("a text cannot be asked for without forms, and nothing is sent", async () => {
  const { ask, sent } = asking(false, () => selected("0"));
  expect(await ask("In words?", [], NEVER)).toMatchObject({ kind: "unavailable" });
  expect(sent).toEqual([]);
});

test.each([true, false])("a client that fails is unavailable, unless the call was ended (forms: %s)", async (forms) => {
  const controller = new AbortController();
  const { ask } = asking(forms, () => {
    throw new Error("it is gone");
  });
  expect(await ask("Which?", OPTIONS, controller.signal)).toEqual({ kind: "unavailable", reason: "it is gone" });
  controller.abort();
  await expect(ask("Which?", OPTIONS, controller.signal)).rejects.toThrow("it is gone");
});

test("whatever is asked is valid by the protocol, and shows nothing hidden", async () => {
  const validate = await acpSchemaValidator();
  const words = fc.string({ unit: fc.constantFrom("a", " ", "\n", "\u202e", "\u200b"), minLength: 1 });
  const option = fc.record({ label: words, description: words }, { requiredKeys: ["label"] });
  const asked = async (forms: boolean, question: string, options: readonly { label: string }[]) => {
    const { ask, sent } = asking(forms, () => (forms ? { action: "decline" } : selected("none")));
    expect(await ask(question, options, NEVER)).toMatchObject({ kind: "declined" });
    for (const { method, params } of sent) {
      expect(validate({ kind: "request", method, payload: params })).toBeUndefined();
      const shown = JSON.stringify(params, (key, value: unknown) => (key === "const" ? undefined : value));
      expect(shown).not.toMatch(/[\u202e\u200b]/u);
    }
  };
  await fc.assert(fc.asyncProperty(fc.boolean(), words, fc.array(option, { minLength: 1, maxLength: 4 }), asked), {
    numRuns: 200,
  });
});
