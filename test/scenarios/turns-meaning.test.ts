// Search by meaning: an embeddings endpoint over HTTP in both forms, its failures, who may name it, and what is told of it.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { type AcpClient, acpSchemaValidator, startAgent, type ToolScript } from "../../src/testing/index.js";
import { closeListener, listenOnLoopback, readBody } from "../../src/testing/kit/loopback.js";
import { answerText, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";
import { crowd } from "./tools/crowd.js";
import { entry } from "./tools/tool-session.js";

/** Words of one line mean the same: a vector has a number for each line. */
const MEANINGS = [/outside|wet|tomorrow|precipitation|outlook/giu, /invoice|bill|money/giu, /music|playlist|song/giu];
const PROMPT = "Will I get wet outside tomorrow?";
const WANTED = "mcp__many__precipitation_outlook";
const WANTED_TOOL: ToolScript = {
  name: "precipitation_outlook",
  description: "Says the outlook for precipitation.",
  reply: { kind: "text", text: "dry" },
};
const OWN_KEY = "embedding-key-0123456789";
const CHAT_KEY = "chat-key-0123456789";

function vectorOf(text: string): number[] {
  return [0.2, ...MEANINGS.map((pattern) => text.match(pattern)?.length ?? 0)];
}

interface Sent {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly texts: readonly string[];
  readonly body: string;
}

type Fault = (response: ServerResponse) => void;

/** Speaks both forms: `/v1/embeddings`, and `/v1beta/models/<name>:batchEmbedContents`. */
class FakeEndpoint implements AsyncDisposable {
  readonly sent: Sent[] = [];
  readonly #server: Server;
  origin = "";
  /** Answers in its place. */
  fault: Fault | undefined;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async open(): Promise<FakeEndpoint> {
    const endpoint = new FakeEndpoint();
    endpoint.origin = await listenOnLoopback(endpoint.#server);
    return endpoint;
  }

  get texts(): readonly string[] {
    return this.sent.flatMap(({ texts }) => texts);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { input, requests } = JSON.parse(body);
    const isGoogle = Array.isArray(requests);
    const texts: string[] = isGoogle
      ? requests.map(({ content }: { content: { parts: { text: string }[] } }) => content.parts[0]?.text ?? "")
      : input;
    this.sent.push({ path: request.url ?? "", headers: request.headers, texts, body });
    if (this.fault) return this.fault(response);
    const vectors = texts.map(vectorOf);
    const answer = isGoogle
      ? { embeddings: vectors.map((values) => ({ values })) }
      : { data: vectors.map((embedding, index) => ({ index, embedding })).reverse() };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeListener(this.#server);
  }
}

/** A home with a model provider, an embeddings endpoint, and a server with many tools behind search. */
class Place implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly endpoint: FakeEndpoint;
  readonly provider: FakeProvider;

  private constructor(endpoint: FakeEndpoint, provider: FakeProvider) {
    this.endpoint = endpoint;
    this.provider = provider;
    provider.replyWith(() => answerText("done"));
    mkdirSync(join(this.home.path, "project"));
  }

  static async open(): Promise<Place> {
    return new Place(await FakeEndpoint.open(), await fakeProvider({ apiKey: CHAT_KEY }));
  }

  configure(embeddings: object | undefined): void {
    const many = [...crowd(60), WANTED_TOOL];
    const server = entry({ tools: many }, { include: "search" });
    const config = { tools: { headStart: 3 }, mcpServers: { many: server }, search: { embeddings } };
    writeFileSync(join(this.home.path, "config.json"), JSON.stringify(config));
  }

  get ollama(): object {
    return { model: "openai-compatible/nomic-embed-text", baseUrl: `${this.endpoint.origin}/v1` };
  }

  get env(): Record<string, string> {
    const chat = { TENON_MODEL: "openai-compatible/x", TENON_BASE_URL: this.provider.url, TENON_API_KEY: CHAT_KEY };
    return cleanEnv(this.home.path, { ...chat, OWN_KEY, TENON_LOG: "debug" });
  }

  async editor(...words: string[]): Promise<AcpClient> {
    const command = { command: agentNode(), args: [TENON, "acp", ...words], env: this.env, cwd: this.project };
    const client = startAgent(command, { validate: await acpSchemaValidator() });
    await client.initialize();
    return client;
  }

  get project(): string {
    return join(this.home.path, "project");
  }

  async tenon(...words: string[]) {
    return await runCommand(agentNode(), [TENON, ...words], { env: this.env, cwd: this.project });
  }

  /** Names of the tools in the last request to the model. */
  get offered(): readonly string[] {
    const tools = this.provider.requests.at(-1)?.body["tools"];
    return (
      JSON.stringify(tools ?? [])
        .match(/"name":"[^"]+"/gu)
        ?.map((found) => found.slice(8, -1)) ?? []
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endpoint[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }
}

/** One session with these prompts; what its client was told. */
async function talk(
  place: Place,
  prompts: readonly string[] = [PROMPT],
  words: readonly string[] = [],
): Promise<string> {
  const client = await place.editor(...words);
  await using _ended = client;
  const { sessionId } = await client.newSession({ cwd: place.project });
  for (const prompt of prompts) await client.prompt(sessionId, prompt);
  return `${JSON.stringify(client.updates(sessionId))}\n${client.stderr()}`;
}

scenario(
  ["N420", "N422"],
  "a prompt finds the tool that says the same in other words; the next process sends no tool again, and no key goes astray",
  async () => {
    await using place = await Place.open();
    place.configure(undefined);
    await talk(place);
    expect([place.offered.includes(WANTED), place.endpoint.sent.length]).toEqual([false, 0]);

    place.configure(place.ollama);
    const told = await talk(place);
    expect(place.offered).toContain(WANTED);
    expect(told).not.toContain("not by meaning");
    expect(place.endpoint.texts.filter((text) => text.includes("precipitation_outlook"))).toHaveLength(1);
    expect(place.endpoint.texts).toHaveLength(62);
    // The key of the provider that the model is asked with is not for this address.
    expect(place.endpoint.sent.map(({ headers }) => headers.authorization)).toEqual(
      place.endpoint.sent.map(() => undefined),
    );
    expect(place.endpoint.sent.every(({ path }) => path === "/v1/embeddings")).toBe(true);

    place.endpoint.sent.length = 0;
    place.configure({ ...place.ollama, apiKey: "${OWN_KEY}" });
    const again = await talk(place);
    expect([place.offered.includes(WANTED), place.endpoint.texts]).toEqual([true, [PROMPT]]);
    expect(place.endpoint.sent[0]?.headers.authorization).toBe(`Bearer ${OWN_KEY}`);
    expect(told + again).not.toMatch(new RegExp(`${OWN_KEY}|${CHAT_KEY}`, "u"));

    const folder = join(place.home.path, "cache", "embeddings");
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), readFileSync(join(folder, name)).subarray(0, -7));
    place.endpoint.sent.length = 0;
    await talk(place);
    expect([place.offered.includes(WANTED), place.endpoint.texts.length]).toEqual([true, 62]);
  },
);

scenario(["N420"], "Google's form has the key, the task and the numbers that are asked for", async () => {
  await using place = await Place.open();
  place.configure({
    model: "google/gemini-embedding-001",
    baseUrl: place.endpoint.origin,
    apiKey: "!echo $OWN_KEY",
    dimensions: 4,
  });
  await talk(place);
  expect(place.offered).toContain(WANTED);
  const [query, tools] = place.endpoint.sent;
  expect(query?.path).toBe("/v1beta/models/gemini-embedding-001:batchEmbedContents");
  expect(query?.headers["x-goog-api-key"]).toBe(OWN_KEY);
  expect(JSON.parse(query?.body ?? "")).toEqual({
    requests: [
      {
        model: "models/gemini-embedding-001",
        content: { parts: [{ text: PROMPT }] },
        taskType: "RETRIEVAL_QUERY",
        outputDimensionality: 4,
      },
    ],
  });
  expect(tools?.body).toContain("RETRIEVAL_DOCUMENT");
});

const answering = (status: number, body: string, headers: Record<string, string> = {}): Fault => {
  return (response) => response.writeHead(status, headers).end(body);
};

const FAULTS: Readonly<Record<string, readonly [Fault, RegExp]>> = {
  "gives no answer": [() => {}, /gave no answer within 1\.5 s/u],
  "limits requests": [answering(429, "{}", { "retry-after": "30" }), /limits requests \(429\)/u],
  "refuses the key": [answering(401, `{"error":{"message":"bad key ${OWN_KEY}"}}`), /refused the key \(401\)/u],
  "has no such model": [answering(404, '{"error":{"message":"model not found"}}'), /not found/u],
  "answers something else": [answering(200, "<html>"), /no JSON/u],
  "gives too few vectors": [answering(200, '{"data":[]}'), /0 vectors for 1 texts/u],
  "gives no numbers": [answering(200, '{"data":[{"embedding":["a"]}]}'), /lists of numbers/u],
  "gives other dimensions": [
    answering(200, '{"data":[{"embedding":[1,2,3]}]}'),
    /have 3 numbers, the configuration says 4/u,
  ],
  redirects: [answering(307, "", { location: "http://127.0.0.1:9/" }), /redirects \(307\)/u],
  "breaks off": [(response) => response.destroy(), /could not be reached or failed/u],
};

scenario(
  ["N421", "N422"],
  "whatever the endpoint does, words rank the tools, the wait is bounded, and one notice says why",
  async () => {
    await using place = await Place.open();
    place.configure({ ...place.ollama, apiKey: "${OWN_KEY}", dimensions: 4 });
    for (const [what, [fault, reason]] of Object.entries(FAULTS)) {
      place.endpoint.fault = fault;
      const startedMs = performance.now();
      const told = await talk(place, ["count the invoice", "list the invoice"]);
      const notices = told.match(/Tools are found by their words for now, not by meaning: [^"]*/gu) ?? [];
      expect([what, notices.length], what).toEqual([what, 1]);
      expect(notices[0], what).toMatch(reason);
      expect(told, what).not.toContain(OWN_KEY);
      expect(place.offered, what).toContain("mcp__many__count_invoice");
      expect(performance.now() - startedMs, what).toBeLessThan(12_000);
    }
    await place.endpoint[Symbol.asyncDispose]();
    expect(await talk(place, ["count the invoice"])).toMatch(
      /not by meaning: .*Nothing listens at http:\/\/127\.0\.0\.1/u,
    );
    expect(place.offered).toContain("mcp__many__count_invoice");
  },
  { timeoutMs: 120_000 },
);

scenario(["N422"], "a project cannot name an endpoint: nothing is sent to it, and it is said why", async () => {
  await using place = await Place.open();
  place.configure(undefined);
  mkdirSync(join(place.project, ".tenon"));
  writeFileSync(
    join(place.project, ".tenon", "config.json"),
    JSON.stringify({ search: { embeddings: { ...place.ollama, apiKey: "${OWN_KEY}" } } }),
  );
  const told = await talk(place);
  expect(told).toContain("a project can never change where prompts and tool descriptions are sent");
  expect(place.endpoint.sent).toEqual([]);
});

scenario(
  ["N423", "N422"],
  "a recording is replayed without the endpoint, and the commands say whether meaning was used",
  async () => {
    await using place = await Place.open();
    place.configure({ ...place.ollama, apiKey: "${OWN_KEY}" });
    const trace = join(place.home.path, "run.ndjson");
    await talk(place, [PROMPT], ["--trace", trace]);
    expect(place.offered).toContain(WANTED);
    expect(readFileSync(trace, "utf8")).not.toContain(OWN_KEY);
    const asked = place.endpoint.sent.length;
    const replayed = await place.tenon("replay", trace);
    expect([replayed.stdout, replayed.code]).toEqual([expect.stringContaining("No difference."), 0]);
    expect(place.endpoint.sent).toHaveLength(asked);

    const found = await place.tenon("mcp", "tools", "--search", PROMPT);
    expect(found.stdout).toMatch(
      /many\/precipitation_outlook[\s\S]*ranked by words and by meaning \(openai-compatible\/nomic-embed-text\)/u,
    );
    const why = await place.tenon("mcp", "why", "many/count_invoice", "--prompt", `${PROMPT} invoice`);
    expect(why.stdout).toMatch(/count_invoice[\s\S]*(?:of it by meaning|by words alone)/u);
    const well = await place.tenon("doctor", "--no-connect", "--json");
    expect(well.stdout).toContain(`nomic-embed-text at ${place.endpoint.origin}/v1 gives 4 numbers`);

    place.endpoint.fault = answering(503, "{}");
    const failed = await place.tenon("mcp", "tools", "--search", PROMPT, "--json");
    expect(JSON.parse(failed.stdout)).toMatchObject({
      meaning: { isUsed: false, reason: expect.stringContaining("503") },
    });
    const ill = await place.tenon("doctor", "--no-connect");
    expect(ill.stdout).toMatch(/✗ search by meaning/u);
  },
  { timeoutMs: 60_000 },
);
