// Turns texts into vectors with an embeddings endpoint: that of OpenAI and the many servers that speak like it, or Google's.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { Fetch, World } from "../../base/ports/world.js";
import { toModelError } from "../failures/provider-errors.js";
import { MODEL_LIMITS } from "../limits.js";
import { type Connection, connectionOf, type Environment, shownUrl } from "./connection.js";
import { readBounded } from "./lists.js";
import { providerOf } from "./providers.js";

export interface EmbeddingSettings {
  /** `provider/name`. */
  readonly model: string;
  /** The numbers a vector is to have; unless given, as many as the model gives. */
  readonly dimensions?: number;
  /** Put before a query and before the text of a tool, for models that were trained with such words. */
  readonly queryPrefix?: string;
  readonly documentPrefix?: string;
}

/** Fits the `Embedder` port of `tools`. */
export interface EmbeddingModel {
  /** Names model, address and settings, for people too: vectors of two ids cannot be compared. */
  readonly id: string;
  /** Fails with a `model.*` code. */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
    kind: "query" | "document",
  ): Promise<readonly (readonly number[])[]>;
}

interface EmbeddingOptions {
  readonly env: Environment;
  readonly fetch: Fetch;
  readonly world: Pick<World, "deadline" | "now">;
}

/** Sends nothing. Fails with `model.unknown` or `model.unauthorized`. */
export function embeddingModel(settings: EmbeddingSettings, { env, fetch, world }: EmbeddingOptions): EmbeddingModel {
  const { model, ...more } = settings;
  const { queryPrefix = "", documentPrefix = "" } = more;
  const named = providerOf(model);
  const form = named && FORMS[named.provider.listFormat];
  if (!named || !form) {
    const hint = `Write provider/name; providers with embeddings: ${PROVIDERS_WITH_EMBEDDINGS}.`;
    throw new TenonError("model.unknown", `There is no embeddings model "${model}". ${hint}`, { hint });
  }
  const connection = connectionOf(model, named.provider, { env, fetch, name: named.name });
  const address = shownUrl(connection.baseURL);
  const words = Object.entries(more).map(([name, value]) => `${name} ${value}`);
  const failure = {
    modelId: model,
    secrets: connection.apiKey === undefined ? [] : [connection.apiKey],
    keyVariable: named.provider.keyVariable,
    baseUrl: address,
    now: () => world.now(),
  };
  return {
    id: `${model} at ${address}${words.length === 0 ? "" : ` (${words.join(", ")})`}`,
    embed: async (texts, signal, kind) => {
      using deadline = world.deadline(MODEL_LIMITS.embedding.requestMs, signal);
      const prefix = kind === "query" ? queryPrefix : documentPrefix;
      const request = { texts: texts.map((text) => prefix + text), kind, settings, name: named.name };
      try {
        return vectorsIn(await post(form, request, connection, deadline.signal), form, request);
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        const lateText = `${model} at ${address} gave no answer within ${MODEL_LIMITS.embedding.requestMs / 1_000} s.`;
        throw deadline.expired
          ? new TenonError("model.unavailable", lateText)
          : toModelError(failure, thrown, "asking");
      }
    },
  };
}

interface EmbedRequest {
  readonly texts: readonly string[];
  readonly kind: "query" | "document";
  readonly settings: EmbeddingSettings;
  readonly name: string;
}

async function post(
  form: Form,
  request: EmbedRequest,
  connection: Connection,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { apiKey, baseURL } = connection;
  const authorization = apiKey === undefined ? {} : form.headers(apiKey);
  const response = await connection.fetch(`${baseURL}${form.path(request.name)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify(form.body(request)),
    signal,
  });
  const body = await readBounded(response, MODEL_LIMITS.embedding.answerMaxBytes, "The answer with embeddings");
  if (!response.ok) {
    const responseHeaders = Object.fromEntries(response.headers);
    throw Object.assign(new Error(response.statusText), {
      statusCode: response.status,
      responseBody: body,
      responseHeaders,
    });
  }
  const parsed = parseJson(body);
  if (!parsed.ok) throw malformed(`it is no JSON: ${parsed.reason}`, request);
  return parsed.value;
}

/** One vector a text, all of one length, and of the length that was asked for. */
function vectorsIn(answer: JsonValue, form: Form, request: EmbedRequest): readonly (readonly number[])[] {
  const vectors = form.vectors(isJsonObject(answer) ? answer : {});
  const { texts, settings } = request;
  if (vectors.length !== texts.length) {
    throw malformed(`it has ${vectors.length} vectors for ${texts.length} texts`, request);
  }
  const length = vectors[0]?.length ?? 0;
  if (length === 0 || vectors.some((vector) => vector?.length !== length)) {
    throw malformed("its vectors are not all lists of numbers of one length", request);
  }
  const { dimensions = length } = settings;
  if (length !== dimensions) {
    const advice = "correct or remove search.embeddings.dimensions";
    throw malformed(`its vectors have ${length} numbers, the configuration says ${dimensions}: ${advice}`, request);
  }
  if (length > MODEL_LIMITS.embedding.maxDimensions) {
    const most = MODEL_LIMITS.embedding.maxDimensions;
    throw malformed(`its vectors have ${length} numbers, more than ${most}: set search.embeddings.dimensions`, request);
  }
  return vectors.flatMap((vector) => (vector ? [vector] : []));
}

function malformed(what: string, { settings }: EmbedRequest): TenonError {
  return new TenonError("model.broken_stream", `The answer of ${settings.model} cannot be used: ${what}.`);
}

interface Form {
  readonly path: (name: string) => string;
  readonly headers: (apiKey: string) => Record<string, string>;
  readonly body: (request: EmbedRequest) => JsonObject;
  /** In the order of the texts; undefined for what is no list of numbers. */
  readonly vectors: (answer: JsonObject) => readonly (readonly number[] | undefined)[];
}

const FORMS: Readonly<Record<string, Form>> = {
  openai: {
    path: () => "/embeddings",
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    body: ({ texts, name, settings: { dimensions } }) => ({
      model: name,
      input: texts,
      encoding_format: "float",
      ...defined({ dimensions }),
    }),
    vectors: ({ data }) => {
      const entries = listOf(data).filter((entry) => isJsonObject(entry));
      const at = ({ index }: JsonObject, place: number) => (typeof index === "number" ? index : place);
      const placed = entries.map((entry, place) => ({ place: at(entry, place), vector: numbers(entry["embedding"]) }));
      return placed.sort((one, other) => one.place - other.place).map(({ vector }) => vector);
    },
  },
  gemini: {
    path: (name) => `/models/${encodeURIComponent(name)}:batchEmbedContents`,
    headers: (apiKey) => ({ "x-goog-api-key": apiKey }),
    body: ({ texts, kind, name, settings: { dimensions } }) => ({
      requests: texts.map((text) => ({
        model: `models/${name}`,
        content: { parts: [{ text }] },
        taskType: kind === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT",
        ...defined({ outputDimensionality: dimensions }),
      })),
    }),
    vectors: ({ embeddings }) =>
      listOf(embeddings).map((entry) => (isJsonObject(entry) ? numbers(entry["values"]) : undefined)),
  },
};

const PROVIDERS_WITH_EMBEDDINGS = "openai, google, openai-compatible";

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return list;
}

function numbers(value: JsonValue | undefined): readonly number[] | undefined {
  const list = listOf(value).filter((one) => typeof one === "number");
  return list.length === listOf(value).length ? list : undefined;
}
