// What a served client is told and asked: tool results, refusals, and the form of a permission question.

import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import { type ProvidedAnswer, refusal, toWire } from "../mcp/index.js";
import { argumentLines, type PermissionAnswer, type PermissionQuestion, questionNotes } from "../session/index.js";
import type { ToolDefinition, ToolOutcome } from "../tools/index.js";

const REQUEST_CANCELLED = -32_800;

/** A result that says in words why there is none: a model reads it, where an error of the protocol would end its turn. */
export function failure(words: string): ProvidedAnswer {
  return { kind: "result", result: { content: [{ type: "text", text: words }], isError: true } };
}

/** Content, structured content and errors of a server are passed on as they came. */
export function callAnswer(outcome: ToolOutcome): ProvidedAnswer {
  switch (outcome.kind) {
    case "done":
    case "failed": {
      const { kind, content, structured: structuredContent } = outcome;
      if (outcome.kind === "failed" && outcome.protocolError) return { kind: "error", error: outcome.protocolError };
      const isError = kind === "failed";
      const result = { content: content.map(toWire), isError, ...defined({ structuredContent }) };
      return { kind: "result", result };
    }
    case "refused":
      return failure(`The call was refused: ${outcome.reason}`);
    case "unknown":
      return failure(`Outcome unknown: ${outcome.reason}. Do not assume it failed.`);
    case "cancelled":
      return refusal(REQUEST_CANCELLED, "the call was cancelled");
    default:
      return unreachable(outcome);
  }
}

export function toolEntry(served: string, definition: ToolDefinition): JsonObject {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const shown = defined({ title, outputSchema, annotations: annotations && { ...annotations } });
  return { name: served, description, inputSchema: withoutHeaders(inputSchema), ...shown };
}

/** Which arguments a server wants as headers is between it and Tenon: clients of Tenon send none. */
function withoutHeaders(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const isMarked = (property: unknown) => isJsonObject(property) && "x-mcp-header" in property;
  if (!Object.values(properties).some(isMarked)) return schema;
  const plain = Object.entries(properties).map(([name, property]) => {
    if (!isJsonObject(property)) return [name, property] as const;
    const { "x-mcp-header": _, ...rest } = property;
    return [name, rest] as const;
  });
  return { ...schema, properties: Object.fromEntries(plain) };
}

/** The parameters of `elicitation/create`. */
export function permissionForm(question: PermissionQuestion): JsonObject {
  const { tool, arguments: args, choices } = question;
  const lines = [`Tenon asks: may ${tool.source} / ${tool.definition.name} be called?`];
  const given = argumentLines(args);
  const message = [...lines, ...questionNotes(question), ...(given.length > 0 ? ["Arguments:", ...given] : [])];
  return {
    mode: "form",
    message: message.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        decision: {
          type: "string",
          title: "Decision",
          enum: choices.map(({ answer }) => answer),
          enumNames: choices.map(({ label }) => label),
        },
      },
      required: ["decision"],
    },
  };
}

/** What was not offered is a no, and so is a form that was closed. */
export function permissionAnswer({ choices }: PermissionQuestion, answer: JsonObject): PermissionAnswer {
  const { action, content } = answer;
  const decision = action === "accept" && isJsonObject(content) ? content["decision"] : undefined;
  return choices.find((choice) => choice.answer === decision)?.answer ?? "no";
}

/** For a client that cannot be asked. */
export function unaskedWords(question: PermissionQuestion, directory: string): string {
  const { tool } = question;
  const why = questionNotes(question).map((note) => ` ${note}`);
  const grant = tool.origin === "builtin" ? "" : `tenon trust grant ${tool.source}, run in ${directory}, `;
  const ways = `${grant}${grant === "" ? "" : "or "}a rule under "permissions" of the configuration allows it`;
  return (
    `The call was refused: Tenon's policy asks a person about ${tool.source} / ${tool.definition.name}, and this ` +
    `client cannot be asked, since it has no elicitation.${why.join("")} Tell the person: ${ways}.`
  );
}
