// For the tests of logging in: a lab of servers, grants in memory, a person at the browser; closed after each test.
import { afterEach, beforeEach } from "vitest";
import type { World } from "../../src/base/ports/world.js";
import { logIn } from "../../src/mcp/auth/flow.js";
import type { ServerRefusal } from "../../src/mcp/auth/http.js";
import type {
  GrantKey,
  LoggedIn,
  LoginStart,
  OAuthOptions,
  OAuthSettings,
  RedirectWay,
} from "../../src/mcp/auth/port.js";
import { McpConnection } from "../../src/mcp/connection/connection.js";
import { MemoryGrants } from "../../src/mcp/index.js";
import type { CallOptions, CallOutcome } from "../../src/mcp/protocol/call.js";
import type { RemoteSpec } from "../../src/mcp/spec.js";
import { type LeakCheck, leakCheck } from "../../src/testing/kit/leaks.js";
import { type ProtectedServer, protectedServer } from "../../src/testing/lab/auth-server/protected-server.js";
import { type AuthServer, authServer } from "../../src/testing/lab/auth-server/server.js";
import { type AuthServerOptions, type ProtectedServerOptions, visit } from "../../src/testing/lab/index.js";
import { nodeWorld } from "../../src/world/index.js";

export const never: AbortSignal = new AbortController().signal;
export const anyhow: CallOptions = { signal: never, onProgress: (): void => {} };

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A person who is at the page at once and comes back the way they are sent. */
export class Visitor implements RedirectWay {
  readonly kind = "redirect";
  readonly starts: LoginStart[] = [];
  readonly urls: URL[] = [];
  redirectUri = "http://127.0.0.1:9/callback";
  /** What becomes of the query that came back. */
  change: (params: URLSearchParams) => void = () => {};

  async start(start: LoginStart): ReturnType<RedirectWay["start"]> {
    this.starts.push(start);
    return {
      redirectUri: this.redirectUri,
      finish: async (url) => {
        this.urls.push(url);
        const params = new URL(await visit(url)).searchParams;
        this.change(params);
        return params;
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }
}

export interface Lab {
  readonly world: World;
  readonly grants: MemoryGrants;
  readonly visitor: Visitor;
  own<T extends AsyncDisposable>(owned: T): T;
  authServer(options?: AuthServerOptions): Promise<AuthServer>;
  protectedServer(options: ProtectedServerOptions): Promise<ProtectedServer>;
  oauth(settings?: OAuthSettings, options?: Partial<OAuthOptions>): OAuthOptions;
  login(spec: RemoteSpec, oauth: OAuthOptions, refusal?: ServerRefusal): Promise<LoggedIn>;
  connect(spec: RemoteSpec, oauth: OAuthOptions, world?: World): McpConnection;
}

export function specOf({ url }: { readonly url: string }, more: Partial<RemoteSpec> = {}): RemoteSpec {
  return { kind: "http", name: "web", url, headers: {}, ...more };
}

export interface LoggedInServer {
  readonly mcp: ProtectedServer;
  readonly key: GrantKey;
  readonly connection: McpConnection;
}

/** A server that somebody has logged in to, and a connection with that log-in. */
export async function openLoggedIn(bench: Lab, options: ProtectedServerOptions): Promise<LoggedInServer> {
  const mcp = await bench.protectedServer(options);
  const { key } = await bench.login(specOf(mcp), bench.oauth());
  const connection = bench.connect(specOf(mcp), bench.oauth());
  // A call waits for the standing stream, so that nothing but the test's own requests comes after it.
  const { kind } = await connection.call("whoami", {}, anyhow);
  if (kind !== "answered") throw new Error(`the first call was ${kind}`);
  return { mcp, key, connection };
}

/** The text of an answer, or how the call ended instead. */
export function textOf(outcome: CallOutcome): string {
  if (outcome.kind !== "answered") return outcome.kind;
  const [block] = outcome.content;
  return block?.type === "text" ? block.text : "";
}

/** Settled: ready, failed or waiting. */
export async function settled(connection: McpConnection): Promise<string> {
  const { kind } = await connection.state.until(({ kind }) => kind !== "idle" && kind !== "connecting", never);
  return kind;
}

/** Registers the hooks of the test file that calls it. */
export function lab(): Lab {
  const open: AsyncDisposable[] = [];
  let grants = new MemoryGrants();
  let visitor = new Visitor();
  let leaks: LeakCheck;
  const world = nodeWorld({ env: {}, log: QUIET });
  beforeEach(async () => {
    grants = new MemoryGrants();
    visitor = new Visitor();
    leaks = await leakCheck();
  });
  afterEach(async () => {
    for (const owned of open.splice(0).reverse()) await owned[Symbol.asyncDispose]();
    await leaks.verify();
  });
  const own = <T extends AsyncDisposable>(owned: T): T => {
    open.push(owned);
    return owned;
  };
  return {
    world,
    get grants() {
      return grants;
    },
    get visitor() {
      return visitor;
    },
    own,
    authServer: async (options) => own(await authServer(options)),
    protectedServer: async (options) => own(await protectedServer(options)),
    oauth: (settings = {}, options = {}) => ({ store: grants, account: "default", settings, ...options }),
    login: async (spec, oauth, refusal) =>
      await logIn(spec, { world, oauth: { way: visitor, ...oauth } }, never, refusal),
    connect: (spec, oauth, other = world) => {
      const options = { world: other, cwd: "/", client: { name: "test", version: "1" }, oauth };
      const connection = own(new McpConnection(spec, options));
      connection.start();
      return connection;
    },
  };
}
