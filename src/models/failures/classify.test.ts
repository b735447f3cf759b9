// Every code from what providers really answered.
import { describe, expect, test } from "vitest";
import { anthropic, google, openai, refused } from "../../../test/provider-bodies.js";
import type { JsonObject } from "../../base/json/json.js";
import { toModelError } from "./provider-errors.js";

const context = { modelId: "p/m" };

const quota = (...ids: readonly string[]): JsonObject => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: ids.map((quotaId) => ({ quotaMetric: "generativelanguage.googleapis.com/requests", quotaId })),
});
const INVALID_KEY = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
const OVERFLOW = "Your input exceeds the context window of this model. Please adjust your input and try again.";

describe("what Anthropic answers", () => {
  test.each<[number, string, string, string]>([
    [401, "authentication_error", "invalid x-api-key", "model.unauthorized"],
    [
      403,
      "permission_error",
      "Your API key does not have permission to use the specified resource.",
      "model.unauthorized",
    ],
    [404, "not_found_error", "model: claude-nope", "model.unknown"],
    [400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "model.quota"],
    [400, "invalid_request_error", "You have reached your specified API usage limits.", "model.quota"],
    [402, "billing_error", "There is an issue with your billing.", "model.quota"],
    [429, "rate_limit_error", "This request would exceed your organization's rate limit.", "model.rate_limited"],
    [529, "overloaded_error", "Overloaded", "model.overloaded"],
    [500, "api_error", "Internal server error", "model.unavailable"],
    [400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum", "model.context_overflow"],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or `max_tokens`",
      "model.context_overflow",
    ],
    [413, "request_too_large", "Request exceeds the maximum size", "model.context_overflow"],
    [400, "invalid_request_error", "Output blocked by content filtering policy", "model.content_filter"],
    [
      400,
      "invalid_request_error",
      "messages.22: `tool_use` ids were found without `tool_result` blocks",
      "model.invalid_request",
    ],
  ])("%i %s (%s) is %s", (status, type, message, code) => {
    expect(
      toModelError({ ...context, tools: ["a"] }, refused(status, anthropic(type, message)), "asking"),
    ).toMatchObject({
      code,
      message: expect.stringContaining(`(${status}): ${message}`),
    });
    // The same within a stream, where there is no status.
    const streamed = toModelError(context, { type, message }, "reading");
    if (type !== "invalid_request_error") expect(streamed.code).toBe(code);
  });
});

describe("what OpenAI and those who speak like it answer", () => {
  test.each<[number, JsonObject, string]>([
    [
      401,
      openai("Incorrect API key provided: sk-abc***xyz.", "invalid_request_error", "invalid_api_key"),
      "model.unauthorized",
    ],
    [429, openai("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"), "model.quota"],
    [
      429,
      openai("Rate limit reached for gpt-5 on requests per min (RPM).", "requests", "rate_limit_exceeded"),
      "model.rate_limited",
    ],
    [
      429,
      openai(
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000.",
        "tokens",
        "rate_limit_exceeded",
      ),
      "model.context_overflow",
    ],
    [400, openai(OVERFLOW, "invalid_request_error", "context_length_exceeded", "input"), "model.context_overflow"],
    [404, openai("The model `x` does not exist", "invalid_request_error", "model_not_found"), "model.unknown"],
    [
      400,
      openai("Invalid prompt: your prompt was flagged", "invalid_request_error", "invalid_prompt"),
      "model.content_filter",
    ],
    [
      400,
      openai("The response was filtered", "invalid_request_error", "content_filter", "prompt"),
      "model.content_filter",
    ],
    [503, openai("The server is overloaded", "server_error", "server_is_overloaded"), "model.overloaded"],
    [500, openai("The server had an error", "server_error", null), "model.unavailable"],
    [402, openai("Insufficient Balance", "unknown_error", "invalid_request_error"), "model.quota"],
    [
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size.",
          type: "exceed_context_size_error",
          n_ctx: 256,
        },
      },
      "model.context_overflow",
    ],
    [
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000.",
        type: "BadRequestError",
        code: 400,
      },
      "model.context_overflow",
    ],
    [
      400,
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: {
            raw: JSON.stringify(anthropic("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum")),
          },
        },
      },
      "model.context_overflow",
    ],
    [422, { detail: "Input should be a valid dictionary" }, "model.invalid_request"],
  ])("%i %j is %s", (status, body, code) => {
    expect(toModelError(context, refused(status, body), "asking").code).toBe(code);
  });

  test("within a stream is known by its frame, whatever status the adapter makes of it", () => {
    const frame = {
      type: "response.failed",
      response: { error: { code: "context_length_exceeded", message: OVERFLOW } },
    };
    const thrown = {
      message: OVERFLOW,
      type: "response.failed",
      code: "context_length_exceeded",
      statusCode: 400,
      data: frame,
    };
    expect(toModelError(context, thrown, "reading").code).toBe("model.context_overflow");
    const limited = { message: "Rate limit reached", code: "rate_limit_exceeded", statusCode: 429, data: {} };
    expect(toModelError(context, limited, "reading").code).toBe("model.rate_limited");
  });
});

describe("what Gemini answers", () => {
  test.each<[number, JsonObject, string]>([
    [
      400,
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [INVALID_KEY]),
      "model.unauthorized",
    ],
    [403, google(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"), "model.unauthorized"],
    [404, google(404, "NOT_FOUND", "models/gemini-nope is not found for API version v1beta"), "model.unknown"],
    [
      429,
      google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", [
        quota("GenerateRequestsPerMinutePerProjectPerModel"),
      ]),
      "model.rate_limited",
    ],
    [
      429,
      google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", [
        quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
      ]),
      "model.quota",
    ],
    [
      429,
      google(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 0, model: gemini-2.5-pro"),
      "model.quota",
    ],
    [429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "model.rate_limited"],
    [503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "model.overloaded"],
    [500, google(500, "INTERNAL", "An internal error has occurred."), "model.unavailable"],
    [
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
      ),
      "model.context_overflow",
    ],
    [400, google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."), "model.invalid_request"],
  ])("%i %j is %s", (status, body, code) => {
    expect(toModelError(context, refused(status, body), "asking").code).toBe(code);
    // Where a stream was asked for, the error comes in a list.
    expect(toModelError(context, refused(status, [body]), "asking").code).toBe(code);
  });
});

describe("a refused tool", () => {
  const tools = ["zero", "one", "two", "three"];
  const draft = "JSON schema is invalid. It must match JSON Schema draft 2020-12";

  test.each<[JsonObject, readonly string[]]>([
    [anthropic("invalid_request_error", `tools.2.custom.input_schema: ${draft}`), ["two"]],
    [
      anthropic("invalid_request_error", "tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
      ["one"],
    ],
    [anthropic("invalid_request_error", "The compiled grammar is too large, simplify your tool schemas"), []],
    [
      openai(
        "Invalid schema for function 'one': In context=(), object schema missing properties.",
        "invalid_request_error",
        "invalid_function_parameters",
        "tools[3].function.parameters",
      ),
      ["one", "three"],
    ],
    [
      openai("Invalid schema", "invalid_request_error", "invalid_function_parameters", "tools[3].parameters"),
      ["three"],
    ],
    [openai("Invalid schema", "invalid_request_error", "invalid_function_parameters"), []],
    [
      openai("Invalid schema for function 'stranger': type: null", "invalid_request_error", "invalid_request_error"),
      [],
    ],
    [
      google(
        400,
        "INVALID_ARGUMENT",
        "* GenerateContentRequest.tools[0].function_declarations[1].parameters.required[0]: property is not defined\n* GenerateContentRequest.tools[0].function_declarations[3].parameters.required[0]: property is not defined\n",
      ),
      ["one", "three"],
    ],
    [
      google(400, "INVALID_ARGUMENT", "Request contains an invalid argument.", [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "tools[0].function_declarations[2].parameters.properties[1].value" }],
        },
      ]),
      ["two"],
    ],
    [
      google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because `two` functionDeclaration `parameters.x` schema is wrong",
      ),
      ["two"],
    ],
    [
      {
        error: {
          message:
            "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.type of type string",
        },
      },
      [],
    ],
  ])("in %j is %j", (body, names) => {
    const error = toModelError({ ...context, tools }, refused(400, body), "asking");
    expect(error.code).toBe("model.tool_refused");
    expect(error.refusedTools).toEqual(names);
  });

  test("is not what a place in the conversation, or a request without tools, is about", () => {
    const inside = openai("Invalid value", "invalid_request_error", "invalid_value", "input[5].tools[0].parameters");
    expect(toModelError({ ...context, tools }, refused(400, inside), "asking").code).toBe("model.invalid_request");
    const schema = anthropic("invalid_request_error", `tools.2.custom.input_schema: ${draft}`);
    expect(toModelError(context, refused(400, schema), "asking").code).toBe("model.invalid_request");
  });
});
