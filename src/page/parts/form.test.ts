// Forms made from schemas: what is filled in becomes the object that the schema describes, or a reason why not.
import { expect, test } from "vitest";
import { fieldsOf, filledIn } from "./form.js";

const given = (values: object) => new Map<string, string>(Object.entries(values));

const SCHEMA = {
  type: "object",
  required: ["path", "count", "isDeep"],
  properties: {
    path: { type: "string", description: "where" },
    count: { type: "integer" },
    isDeep: { type: "boolean", default: true },
    unit: { type: "string", enum: ["mm", "cm"] },
    size: { oneOf: [{ const: "s", title: "small" }] },
    filter: { type: "object" },
    ["__proto__"]: { type: "string" },
  },
};

test("fields are read by their types, and what was filled in has the types of the schema", () => {
  const fields = fieldsOf(SCHEMA);
  expect(fields.map(({ name, input }) => `${name}: ${input}`)).toEqual([
    "path: text",
    "count: number",
    "isDeep: switch",
    "unit: choice",
    "size: choice",
    "filter: json",
    "__proto__: text",
  ]);
  expect(filledIn(fields, given({ path: "a", count: "3", filter: '{"a":[1]}', unit: "mm" }))).toEqual({
    value: { path: "a", count: 3, isDeep: true, unit: "mm", filter: { a: [1] } },
  });
  expect(filledIn(fields, given({ path: "", count: "3", isDeep: "" }))).toEqual({
    value: { path: "", count: 3, isDeep: false },
  });
});

test.each([
  [{ path: "a" }, "count is needed"],
  [{ path: "a", count: "1.5" }, "count is not a number"],
  [{ path: "a", count: "many" }, "count is not a number"],
  [{ path: "a", count: "1", filter: "{" }, "filter is not JSON"],
])("%j is refused: %s", (values, problem) => {
  expect(filledIn(fieldsOf(SCHEMA), given(values))).toEqual({ problem });
});
