// Servers that lie: about who they are, where their pages are, and how long an answer is.
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { type GrantStore, type LoginWay, login, type RemoteSpec } from "../../src/mcp/index.js";
import type { HttpFault } from "../../src/testing/index.js";
import { authServer, canary, ownAddress, protectedServer } from "../../src/testing/lab/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { OAuthStage, type StageOptions } from "./oauth/stage.js";
import { unending } from "./real-server.js";
import { scenario } from "./scenario.js";

/** The log-in fails with a reason, and no code or token went anywhere. */
async function refused(stage: OAuthStage, words: RegExp, name = ""): Promise<void> {
  const { code, stdout, stderr } = await stage.tenon(["mcp", "login", "web"]);
  expect(code, `${name}: ${stdout}${stderr}`).not.toBe(0);
  expect(stderr, name).toMatch(words);
  expect(stage.auth.recordsOf("token"), name).toEqual([]);
}

scenario(["U8"], "an answer from another issuer, or from none where one was promised, is not used", async () => {
  const cases: readonly (readonly [string, StageOptions])[] = [
    [
      "wrong iss",
      { auth: { iss: "https://other.example", metadata: { authorization_response_iss_parameter_supported: true } } },
    ],
    ["wrong iss, none promised", { auth: { iss: "https://other.example" } }],
    ["missing iss", { auth: { iss: "missing", metadata: { authorization_response_iss_parameter_supported: true } } }],
  ];
  for (const [name, options] of cases) {
    await using stage = await OAuthStage.open(options);
    await refused(stage, /"iss" \(issuer\) (?:missing|response parameter value)/u, name);
    expect(stage.auth.recordsOf("authorize"), name).toHaveLength(1);
  }
  await using fine = await OAuthStage.open({ auth: { iss: "missing" } });
  await fine.login();
});

scenario(["U8"], "metadata that names another issuer is not believed, and nobody is sent there", async () => {
  await using stage = await OAuthStage.open({ auth: { metadata: { issuer: "https://other.example" } } });
  await refused(stage, /is that of another one/u);
  expect(stage.auth.recordsOf("authorize")).toEqual([]);
  expect(stage.browsed).toEqual([]);
});

scenario(["U8"], "a mix-up of two servers: the honest one's code never reaches the other", async () => {
  const clients = [{ clientId: "shared", redirectUris: ["http://127.0.0.1/callback"] }];
  await using honest = await authServer({ clients });
  const metadata = { authorization_endpoint: honest.endpoints.places.authorize };
  await using stage = await OAuthStage.open({ auth: { clients, metadata } });
  stage.configure(
    { web: { oauth: { clientId: "shared" } } },
    { allowHosts: [stage.auth.host, stage.mcp.host, honest.host] },
  );
  await refused(stage, /unexpected "iss"/u);
  expect(honest.recordsOf("authorize")).toHaveLength(1);
  expect(honest.recordsOf("token")).toEqual([]);
});

scenario(["U8"], "tokens of one server are not sent to another that claims to be it", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  await using other = await OAuthStage.open();
  stage.configure({ web: { url: other.mcp.url } }, { allowHosts: [stage.auth.host, other.auth.host] });
  const { stdout, stderr } = await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes"]);
  expect(stdout + stderr).toContain("tenon mcp login web");
  for (const { headers } of other.mcp.http.requests) expect(headers.authorization).toBeUndefined();
});

/** Where each piece of metadata may lure to. The canary is at loopback, and the server that lures is not. */
function lures(origin: string): readonly (readonly [string, StageOptions])[] {
  const byName = origin.replace("127.0.0.1", "localhost");
  const mapped = origin.replace("127.0.0.1", "[::ffff:127.0.0.1]");
  const secure = origin.replace("http:", "https:");
  return [
    ["resource_metadata", { server: { metadataUrl: `${origin}/meta` } }],
    ...[origin, byName, mapped, secure, "http://169.254.169.254"].map((url) => {
      return [`authorization_servers ${url}`, { server: { metadata: { authorization_servers: [url] } } }] as const;
    }),
    ["token_endpoint", { auth: { metadata: { token_endpoint: `${origin}/token` } } }],
    ["registration_endpoint", { auth: { metadata: { registration_endpoint: `${origin}/register` } } }],
    ["authorization_endpoint", { auth: { metadata: { authorization_endpoint: `${origin}/authorize` } } }],
  ];
}

const address = ownAddress();

scenario(
  ["U9"],
  "metadata that leads to internal addresses is refused without a connection to them",
  async () => {
    const at = address === undefined ? {} : { address };
    await using bird = await canary();
    for (const [name, { auth = {}, server = {} }] of lures(bird.origin)) {
      await using stage = await OAuthStage.open({ auth: { ...auth, ...at }, server: { ...server, ...at } });
      await refused(stage, /public|http|address|allow/u, name);
      expect(bird.connections, name).toBe(0);
      expect(stage.browsed, name).toEqual([]);
      const { stdout, stderr } = await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes"]);
      expect(stdout + stderr, name).not.toContain("you are");
      expect(bird.connections, name).toBe(0);
    }
    const location = `${bird.origin}/elsewhere`;
    for (const endpoint of ["metadata", "register", "token"] as const) {
      await using stage = await OAuthStage.open({ auth: at, server: at });
      stage.auth.misbehave(endpoint, { kind: "answer", status: 307, headers: { location } });
      expect((await stage.tenon(["mcp", "login", "web"])).code, endpoint).not.toBe(0);
      expect(bird.connections, endpoint).toBe(0);
    }
    const metadata = { revocation_endpoint: `${bird.origin}/revoke` };
    await using stage = await OAuthStage.open({ auth: { ...at, metadata }, server: at });
    await stage.tenon(["mcp", "login", "web"]);
    await stage.tenon(["mcp", "logout", "web"]);
    expect(bird.connections).toBe(0);
  },
  address === undefined ? { lacks: "an address beside loopback", timeoutMs: 240_000 } : { timeoutMs: 240_000 },
);

/** Names that lead to this machine, as a hostile name server would have it. */
const there = {
  ...nodeWorld({ log: stderrLog("error") }),
  lookup: async () => [{ address: "127.0.0.1", family: 4 as const }],
};

/** Nobody has logged in, and nothing is kept. */
const NO_GRANTS: GrantStore = {
  read: async () => undefined,
  find: async () => [],
  update: async (_key, change) => await change(undefined),
  readClient: async () => undefined,
  writeClient: async () => {},
};

scenario(
  ["U9"],
  "a public name that leads to an internal address is not dialled, nor a name beside an allowed one",
  async () => {
    await using bird = await canary();
    const { port } = new URL(bird.origin);
    for (const lure of [
      `https://public.example:${port}`,
      bird.origin,
      `https://127.0.0.1:${port}`,
      `https://[::1]:${port}`,
    ]) {
      const hostname = "mcp.example";
      await using auth = await authServer();
      await using mcp = await protectedServer({
        authServers: [auth],
        hostname,
        metadata: { authorization_servers: [lure] },
      });
      const way: LoginWay = { kind: "redirect", start: () => Promise.reject(new Error("nobody is to be asked")) };
      const oauth = { store: NO_GRANTS, account: "default", settings: {}, way };
      const spec: RemoteSpec = { kind: "http", name: "web", url: mcp.url, headers: {} };
      const attempt = login(spec, { world: there, oauth, allowHosts: [hostname] }, unending());
      await expect(attempt, lure).rejects.toMatchObject({ code: "mcp.url_refused" });
      expect(mcp.http.requests.length, lure).toBeGreaterThan(0);
      expect(bird.connections, lure).toBe(0);
    }
  },
);

scenario(["U10"], "a page that is no web page is neither opened nor shown as one", async () => {
  for (const page of ["javascript:alert(1)//", "file:///etc/passwd", "vscode://x/y", "data:text/html,hi"]) {
    await using stage = await OAuthStage.open({ auth: { metadata: { authorization_endpoint: page } } });
    await refused(stage, /http/u, page);
    expect(stage.browsed, page).toEqual([]);
  }
});

scenario(["U10"], "whatever is in the address, the browser gets it as one word and no shell reads it", async () => {
  const strange = "$(touch pwned)`touch pwned`;touch pwned&touch pwned|touch pwned";
  await using stage = await OAuthStage.open();
  const page = new URL(stage.auth.endpoints.places.authorize);
  page.searchParams.set("prompt", strange);
  stage.auth.script({ metadata: { authorization_endpoint: page.href } });
  await stage.login();
  expect(stage.browsed).toHaveLength(1);
  const [words = []] = stage.browsed;
  expect(words).toHaveLength(1);
  expect(new URL(words[0] ?? "").searchParams.get("prompt")).toBe(strange);
});

scenario(
  ["U18"],
  "an authorization server that hangs, never ends, answers nonsense or fails costs a bounded wait and a reason",
  async () => {
    const faults: readonly (readonly [string, HttpFault])[] = [
      ["endless", { kind: "endless", contentType: "application/json", start: '{"a":"' }],
      ["nonsense", { kind: "answer", status: 200, headers: { "content-type": "application/json" }, body: "<html>" }],
      ["failure", { kind: "answer", status: 503, body: "down" }],
      ["reset", { kind: "reset" }],
      ["half", { kind: "half", contentType: "application/json", body: '{"issuer":' }],
    ];
    for (const endpoint of ["metadata", "register", "token"] as const) {
      for (const [name, fault] of faults) {
        await using stage = await OAuthStage.open();
        stage.auth.misbehave(endpoint, fault);
        const startedMs = performance.now();
        const { code, stdout, stderr } = await stage.tenon(["mcp", "login", "web"]);
        expect(code, `${endpoint} ${name}: ${stdout}${stderr}`).not.toBe(0);
        expect(stderr, `${endpoint} ${name}`).not.toBe("");
        expect(stderr, `${endpoint} ${name}`).not.toMatch(/^\s+at /mu); // no stack
        expect(performance.now() - startedMs, `${endpoint} ${name}`).toBeLessThan(40_000);
      }
    }
  },
  { timeoutMs: 300_000 },
);

scenario(
  ["U18"],
  "an authorization server that never answers, or drips, is given up on, and a call says so in bounded time",
  async () => {
    await using stage = await OAuthStage.open();
    await stage.login();
    {
      await using client = await stage.agent();
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: stage.home.path });
      await client.prompt(sessionId, "mcp__web__whoami");
      stage.auth.endpoints.tokens.expireAccess();
      stage.auth.misbehave("token", { kind: "hang" });
      const startedMs = performance.now();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("no answer within");
      expect(performance.now() - startedMs).toBeLessThan(40_000);
      stage.auth.behave();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId).match(/you are alice/gu)).toHaveLength(2);
    }
    stage.auth.misbehave("metadata", { kind: "drip", contentType: "application/json", everyMs: 200 });
    const login = await stage.tenon(["mcp", "login", "web"]);
    expect(login.code).not.toBe(0);
    expect(login.stderr).toContain("no answer within");
  },
  { timeoutMs: 240_000 },
);

scenario(
  ["U18", "U8"],
  "what the server says about an error is shown, but not what it could do with a terminal",
  async () => {
    const body: JsonObject = {
      error: "invalid_client",
      error_description: "\u001b[2J\u001b]0;gotcha\u0007 no such client",
    };
    await using stage = await OAuthStage.open();
    stage.auth.misbehave("token", {
      kind: "answer",
      status: 400,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { code, stderr } = await stage.tenon(["mcp", "login", "web"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("invalid_client");
    expect(stderr).not.toContain("\u001b");
  },
);
