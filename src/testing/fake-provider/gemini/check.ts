// Why the Gemini API would refuse a request, in its words.
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import { type Fault, invalid } from "../fault.js";
import type { Issued } from "../issued.js";
import { objectField, objectsIn, textField } from "../read-json.js";

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The documented way to replay calls of another model; their signatures are then not looked at. */
const SKIP_SIGNATURE = "skip_thought_signature_validator";

export function checkContents(body: JsonObject, issued: Issued): Fault | undefined {
  return toolsFault(body) ?? contentsFault(objectsIn(body, "contents"), issued);
}

function toolsFault(body: JsonObject): Fault | undefined {
  const names = new Set<string>();
  for (const tool of objectsIn(body, "tools")) {
    for (const [index, declaration] of objectsIn(tool, "functionDeclarations").entries()) {
      const name = textField(declaration, "name") ?? "";
      const place = `GenerateContentRequest.tools[0].function_declarations[${index}].name`;
      if (!NAME.test(name))
        return invalid(
          `* ${place}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
        );
      if (names.has(name)) return invalid(`Duplicate function declaration found: ${name}`);
      names.add(name);
    }
  }
  return undefined;
}

function contentsFault(contents: readonly JsonObject[], issued: Issued): Fault | undefined {
  if (contents.length === 0) return invalid("* GenerateContentRequest.contents: contents is not specified\n");
  const turn = contents.findLastIndex(
    (content) => content["role"] === "user" && parts(content, "functionResponse").length === 0,
  );
  for (const [index, content] of contents.entries()) {
    const said =
      partsFault(content, index) ??
      orderFault(content, contents[index - 1], contents[index + 1]) ??
      (index > turn ? signatureFault(content, index, issued) : undefined);
    if (said) return said;
  }
  return contents.at(-1)?.["role"] === "model"
    ? invalid("Please ensure that single turn requests end with a user role or the role field is empty.")
    : undefined;
}

function parts(content: JsonObject | undefined, kind: "functionCall" | "functionResponse"): readonly JsonObject[] {
  return (content ? objectsIn(content, "parts") : []).flatMap((part) => {
    const found = objectField(part, kind);
    return found ? [found] : [];
  });
}

function partsFault(content: JsonObject, index: number): Fault | undefined {
  if (content["role"] !== "user" && content["role"] !== "model")
    return invalid("Please use a valid role: user, model.");
  const found = objectsIn(content, "parts");
  const place = `GenerateContentRequest.contents[${index}].parts`;
  if (found.length === 0) return invalid(`* ${place}: contents.parts must not be empty.\n`);
  for (const [at, part] of found.entries()) {
    const data = ["text", "inlineData", "fileData", "functionCall", "functionResponse"].filter((kind) => kind in part);
    const isEmpty = data.length !== 1 || textField(part, "text") === "";
    if (isEmpty)
      return invalid(`* ${place}[${at}].data: required oneof field 'data' must have one initialized field\n`);
    const inline = objectField(part, "inlineData");
    const signature = textField(part, "thoughtSignature");
    if (inline && !BASE64.test(textField(inline, "data") ?? "?"))
      return invalid(`Invalid value at 'contents[${index}].parts[${at}].inline_data.data' (TYPE_BYTES)`);
    if (signature !== undefined && signature !== SKIP_SIGNATURE && !BASE64.test(signature))
      return invalid(`Invalid value at 'contents[${index}].parts[${at}].thought_signature' (TYPE_BYTES)`);
  }
  return undefined;
}

/** Calls come after the user's words or results, and are answered by the very next content, one for one. */
function orderFault(
  content: JsonObject,
  previous: JsonObject | undefined,
  next: JsonObject | undefined,
): Fault | undefined {
  const calls = parts(content, "functionCall");
  const responses = parts(content, "functionResponse");
  if (previous?.["role"] === content["role"] && content["role"] === "model")
    return invalid("Please ensure that multiturn requests alternate between user and model.");
  if (calls.length > 0 && (content["role"] !== "model" || previous?.["role"] !== "user"))
    return invalid(
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
  if (responses.length > 0 && parts(previous, "functionCall").length === 0)
    return invalid("Please ensure that function response turn comes immediately after a function call turn.");
  const answers = parts(next, "functionResponse");
  if (calls.length > 0 && answers.length !== calls.length)
    return invalid(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
  const unpaired = calls.find((call, index) => !isAnswerTo(answers[index], call));
  if (unpaired) return invalid("Please ensure that function responses match the function calls by id and name.");
  const wrong = responses.find((response) => !isJsonObject(response["response"]));
  return wrong
    ? invalid(
        "Invalid value at 'contents.parts.function_response.response' (type.googleapis.com/google.protobuf.Struct)",
      )
    : undefined;
}

function isAnswerTo(answer: JsonObject | undefined, call: JsonObject): boolean {
  return answer?.["name"] === call["name"] && (answer?.["id"] === undefined || answer["id"] === call["id"]);
}

/** Within a turn the first call of each answer goes back with the signature it came with. */
function signatureFault(content: JsonObject, index: number, issued: Issued): Fault | undefined {
  const first = objectsIn(content, "parts").find((part) => objectField(part, "functionCall") !== undefined);
  if (!first) return undefined;
  const signature = textField(first, "thoughtSignature");
  const name = textField(objectField(first, "functionCall") ?? {}, "name") ?? "";
  if (signature === undefined)
    return invalid(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    );
  if (signature === SKIP_SIGNATURE || issued.shownWith(signature) !== undefined) return undefined;
  return invalid("Corrupted thought signature.");
}
