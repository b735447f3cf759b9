// A form made from a JSON schema: one field for each property; what has no simple field is written as JSON.
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  objectsAt,
  parse,
  textAt,
  textsAt,
} from "../wire/json.js";

interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly input: "text" | "number" | "switch" | "choice" | "json";
  readonly isInteger: boolean;
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  readonly initial: string;
}

/** What a field holds: a text for every kind; a switch is "true" or "". */
export type Values = ReadonlyMap<string, string>;

export function fieldsOf(schema: JsonObject): readonly Field[] {
  const required = textsAt(schema, "required");
  return Object.entries(objectAt(schema, "properties")).map(([name, given]) =>
    fieldOf(name, objectAt(given), required.includes(name)),
  );
}

function fieldOf(name: string, property: JsonObject, isRequired: boolean): Field {
  const titled = objectsAt(property, "oneOf").map((one) => ({
    value: textAt(one, "const") ?? "",
    title: textAt(one, "title") ?? "",
  }));
  const plain = textsAt(property, "enum").map((value) => ({ value, title: value }));
  const isTextual = listAt(property, "enum").every((one) => typeof one === "string");
  const choices = titled.some(({ value }) => value !== "") ? titled : isTextual ? plain : [];
  const type = textAt(property, "type");
  const usual = property["default"];
  return {
    name,
    title: textAt(property, "title") ?? name,
    description: textAt(property, "description") ?? "",
    isRequired,
    isInteger: type === "integer",
    choices,
    input: inputOf(type, choices.length > 0),
    initial:
      usual === undefined ? "" : typeof usual === "string" ? usual : usual === false ? "" : JSON.stringify(usual),
  };
}

function inputOf(type: string | undefined, isChoice: boolean): Field["input"] {
  if (type === "boolean") return "switch";
  if (isChoice) return "choice";
  if (type === "number" || type === "integer") return "number";
  return type === "string" ? "text" : "json";
}

/** The object that was filled in, or why it is none. What was left empty is left out. */
export function filledIn(
  fields: readonly Field[],
  values: Values,
): { readonly value: JsonObject } | { readonly problem: string } {
  const filled: [string, JsonValue][] = [];
  for (const field of fields) {
    const text = values.get(field.name) ?? field.initial;
    if (field.input === "switch") {
      if (text !== "" || field.isRequired) filled.push([field.name, text === "true"]);
    } else if (text === "") {
      if (field.isRequired && field.input !== "text") return { problem: `${field.title} is needed` };
      if (field.isRequired) filled.push([field.name, ""]);
    } else {
      const value = readField(field, text);
      if (value === undefined)
        return { problem: `${field.title} is not ${field.input === "number" ? "a number" : "JSON"}` };
      filled.push([field.name, value]);
    }
  }
  return { value: Object.fromEntries(filled) };
}

function readField({ input, isInteger }: Field, text: string): JsonValue | undefined {
  if (input === "json") return parse(text);
  if (input !== "number") return text;
  const number = Number(text);
  return Number.isNaN(number) || (isInteger && !Number.isInteger(number)) ? undefined : number;
}

interface SchemaFormProps {
  readonly schema: JsonObject;
  readonly submit: string;
  readonly isBusy?: boolean;
  readonly children?: ComponentChildren;
  readonly onSubmit: (value: JsonObject) => void;
}

export function SchemaForm({ schema, submit, isBusy = false, children, onSubmit }: SchemaFormProps) {
  const values = useSignal<Values>(new Map());
  const problem = useSignal<string | undefined>(undefined);
  const fields = fieldsOf(schema);
  const send = (event: Event) => {
    event.preventDefault();
    const filled = filledIn(fields, values.value);
    problem.value = "problem" in filled ? filled.problem : undefined;
    if ("value" in filled) onSubmit(filled.value);
  };
  return (
    <form class="form" onSubmit={send}>
      {fields.map((field) => (
        <FieldView field={field} values={values} />
      ))}
      {fields.length === 0 && <p class="muted">It takes no arguments.</p>}
      {problem.value !== undefined && (
        <p class="bad-text" role="alert">
          {problem.value}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {submit}
        </button>
        {children}
      </div>
    </form>
  );
}

function FieldView({ field, values }: { readonly field: Field; readonly values: Signal<Values> }) {
  const { name, title, description, isRequired, input, initial, choices } = field;
  const value = values.value.get(name) ?? initial;
  const put = (text: string) => (values.value = new Map(values.value).set(name, text));
  const onInput = (event: { readonly currentTarget: { readonly value: string } }) => put(event.currentTarget.value);
  return (
    <label class={`field field-${input}`}>
      <span class="field-name">
        {title}
        {isRequired && <span class="needed"> needed</span>}
      </span>
      {input === "switch" && (
        <input
          type="checkbox"
          checked={value === "true"}
          onChange={(event) => put(event.currentTarget.checked ? "true" : "")}
        />
      )}
      {input === "number" && <input type="text" inputMode="decimal" value={value} onInput={onInput} />}
      {input === "text" && <input type="text" value={value} onInput={onInput} />}
      {input === "json" && <textarea rows={3} placeholder="JSON" spellcheck={false} value={value} onInput={onInput} />}
      {input === "choice" && (
        <select value={value} onChange={onInput}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option value={choice.value}>{choice.title || choice.value}</option>
          ))}
        </select>
      )}
      {description !== "" && <span class="field-help">{description}</span>}
    </label>
  );
}

export function schemaOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
