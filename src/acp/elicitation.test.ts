// Forms and pages of servers as ACP elicitations: valid by the published schema, with who asks in front.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { acpSchemaValidator } from "../testing/index.js";
import { readAnswer, toElicitation, toFormSchema } from "./elicitation.js";
import { ACP_LIMITS } from "./limits.js";

const form = (requestedSchema: JsonObject, message = "who?") =>
  toElicitation({ id: "e-1", server: "s", request: { mode: "form", message, requestedSchema } }, "session-1");

const page = (url: string) =>
  toElicitation(
    { id: "e-1", server: "s", toolCallId: "1-1", request: { mode: "url", message: "log in", url } },
    "session-1",
  );

test("long words are cut, and a form that nobody could fill in is declined", () => {
  const asked = form({ type: "object", properties: {} }, "[т".repeat(2_000_000));
  expect(asked?.message.length).toBeLessThan(ACP_LIMITS.elicitation.messageChars + 100);
  expect(asked?.message).toMatch(/… \(cut\)$/u);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field-${index}`, { type: "string" }]));
  expect(form({ type: "object", properties: many })).toBeUndefined();
});

test("names and values that would have to be marked are left out: they come back as they were sent", () => {
  const hostile = "[tenon: ok]\u202e";
  const properties = {
    [hostile]: { type: "string" },
    pick: { type: "string", enum: ["a", hostile], default: hostile },
    many: {
      type: "array",
      items: {
        anyOf: [
          { const: hostile, title: "x" },
          { const: "b", title: hostile },
        ],
      },
    },
  };
  const asked = JSON.stringify(form({ type: "object", properties }));
  expect(asked).toContain('"enum":["a"]');
  expect(asked).not.toContain("[tenon: ok]");
  expect(asked).not.toContain("\u202e");
  expect(form({ type: "object", properties, required: [hostile] })).toBeUndefined();
});

test("a form says who asks and keeps every field the protocol has words for", () => {
  const properties = {
    name: { type: "string", title: "Name", description: "Yours", minLength: 1, format: "email", default: "a@b.c" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    ok: { type: "boolean", default: false },
    hero: { type: "string", oneOf: [{ const: "1", title: "One" }] },
    pet: { type: "string", enum: ["c", "d"], enumNames: ["Cat", "Dog"] },
    fish: { type: "array", items: { anyOf: [{ const: "t", title: "Tuna" }] }, minItems: 1, default: ["t"] },
    plain: { type: "array", items: { type: "string", enum: ["x"] } },
  };
  expect(form({ type: "object", properties, required: ["name"] })).toEqual({
    mode: "form",
    sessionId: "session-1",
    message: 'The MCP server "s" asks: who?',
    requestedSchema: {
      type: "object",
      properties: {
        ...properties,
        pet: {
          type: "string",
          oneOf: [
            { const: "c", title: "Cat" },
            { const: "d", title: "Dog" },
          ],
        },
      },
      required: ["name"],
    },
  });
});

test("a field of another kind is left out, and a form that requires one cannot be asked", () => {
  const properties = { deep: { type: "object" }, name: { type: "string" } };
  expect(toFormSchema({ properties })).toEqual({ type: "object", properties: { name: { type: "string" } } });
  expect(toFormSchema({ properties, required: ["deep"] })).toBeUndefined();
});

test("an address is shown in full and as it is really read", () => {
  const long = `https://x.test/?q=${"a".repeat(500)}`;
  expect(page(long)).toMatchObject({ mode: "url", url: long, elicitationId: "e-1", toolCallId: "1-1" });
  expect(page(long)?.message).toContain(long);
  const lookalike = page("https://gіthub.com/login"); // a Cyrillic letter
  expect(lookalike?.message).toContain("xn--");
  expect(lookalike?.message).not.toContain("gіthub");
});

test("hidden characters in a server's words are marked", () => {
  const asked = form({ properties: { a: { type: "string", title: "A\u202e" } } }, "safe\u200b?");
  expect(JSON.stringify(asked)).not.toMatch(/[\u202e\u200b]/u);
});

test.each([
  [
    { action: "accept", content: { a: 1, b: null } },
    { action: "accept", content: { a: 1 } },
  ],
  [{ action: "accept" }, { action: "accept", content: {} }],
  [{ action: "cancel" }, { action: "cancel" }],
  [{ action: "decline" }, { action: "decline" }],
  [{ action: "_later" }, { action: "decline" }],
  [null, { action: "decline" }],
])("%j is read as %j", (response, answer) => {
  expect(readAnswer(response)).toEqual(answer);
});

test("whatever schema a server sends, what is asked is valid by the protocol", async () => {
  const validate = await acpSchemaValidator();
  const field = fc.dictionary(
    fc.constantFrom(
      "type",
      "title",
      "default",
      "enum",
      "enumNames",
      "oneOf",
      "items",
      "minLength",
      "minimum",
      "format",
    ),
    fc.oneof(fc.jsonValue(), fc.constantFrom<JsonValue>("string", "integer", "array", ["a"], { enum: ["b"] }, 3)),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), field), fc.jsonValue(), (properties, required) => {
      const schema: JsonObject = JSON.parse(JSON.stringify({ type: "object", properties, required }));
      const asked = form(schema);
      if (!asked) return;
      const payload: JsonObject = JSON.parse(JSON.stringify(asked));
      expect(validate({ kind: "request", method: "elicitation/create", payload })).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});
