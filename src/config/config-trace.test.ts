// What a trace is told of the configuration: every secret in it is known as one before it is recorded.
import { expect, test } from "vitest";
import type { WireEntry, WireTrace } from "../base/ports/trace.js";
import { fakeWorld } from "../testing/index.js";
import { providerEnvironment } from "./collect-layers.js";
import { loadConfig } from "./load-config.js";

const CONFIG = {
  providers: { openai: { apiKey: "literal key" }, anthropic: { apiKey: "{file:/keys/model}" } },
  mcpServers: {
    local: { command: "run", args: ["{file:/keys/word}", "$" + "{NAME}"] },
    remote: { url: "https://mcp.example/", oauth: { clientId: "id", grant: "jwt_bearer", assertion: "literal word" } },
    other: { url: "https://other.example/", oauth: { clientId: "id", clientSecret: "keyring:other" } },
  },
};

test("secrets are hidden from the trace before the configuration that holds them is recorded", async () => {
  const hidden = new Set<string>();
  const recorded: { readonly entry: WireEntry; readonly hidden: readonly string[] }[] = [];
  const trace: WireTrace = {
    record: (entry) => recorded.push({ entry, hidden: [...hidden] }),
    hide: (values) => {
      for (const value of values) hidden.add(value);
    },
    nextConnection: () => 1,
    nextQuestion: () => 1,
    modelFetch: (fetch) => fetch,
    within: (_session, run) => run(),
  };
  const files = {
    "/usr/bin/run": "",
    "/keys/word": "a word\n",
    "/keys/model": "model key\n",
    "/home/me/.config/tenon/config.json": JSON.stringify(CONFIG),
  };
  const env = { HOME: "/home/me", PATH: "/usr/bin", NAME: "a name" };
  const world = Object.assign(fakeWorld({ env, files }), { trace });
  const config = await loadConfig({ world, cwd: "/project", resolveSecret: async () => "from the keyring" });
  const answer = recorded.find(({ entry: { channel, dir } }) => channel === "host" && dir === "in");
  expect(JSON.stringify(answer?.entry)).toContain("a word");
  expect(answer?.hidden).toEqual(
    expect.arrayContaining(["a word", "a name", "literal word", "from the keyring", "literal key"]),
  );
  await providerEnvironment(config, { world });
  expect(hidden).toContain("model key");
});
