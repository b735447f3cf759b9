// A gateway without its server, on a fake machine: its sessions, and clients as the gateway knows them.
import type { SessionHandle } from "../src/acp/index.js";
import { TenonError } from "../src/base/errors.js";
import { defined } from "../src/base/json/defined.js";
import type { World } from "../src/base/ports/world.js";
import { ClientKeys, LOCAL_PRINCIPAL, type Principal } from "../src/gateway/access/principal.js";
import { fileGatewayStore } from "../src/gateway/nodes/file-store.js";
import type { GatewayStore } from "../src/gateway/nodes/nodes.js";
import { ClientAccess } from "../src/gateway/sessions/client-access.js";
import { GatewayMethods } from "../src/gateway/sessions/gateway-methods.js";
import type { RuntimePlace } from "../src/gateway/sessions/runtimes.js";
import { SharedSessions } from "../src/gateway/sessions/shared-sessions.js";
import { type AvailableModels, OFFLINE_MODEL_ID } from "../src/models/index.js";
import { SessionHost } from "../src/session/index.js";
import { type FakeWorld, fakeWorld } from "../src/testing/index.js";

type Model = ConstructorParameters<typeof SessionHost>[0]["model"];

export const STATE = "/home/state";
const ENV = { HOME: "/home", PATH: "/own", SECRET: "own" };

function modelsWith(model: Model, env: World["env"] = {}): AvailableModels {
  const problemOf = (id: string) =>
    id === OFFLINE_MODEL_ID || env["KEY"] !== undefined
      ? undefined
      : new TenonError("model.unauthorized", `${id} needs KEY`);
  const offline: Model = { ...model, id: OFFLINE_MODEL_ID };
  const first = problemOf(model.id) ? offline : model;
  return { first, ids: [model.id], problemOf, open: () => model, ask: async () => ({ ids: [], problems: [] }) };
}

/** A gateway without its server. */
export class House implements AsyncDisposable {
  readonly world: FakeWorld;
  readonly opened: RuntimePlace[] = [];
  readonly hosts: SessionHost[] = [];
  readonly written: object[] = [];
  #held: Promise<void> | undefined;
  /** No runtime is opened before. */
  runtimeHeld: Promise<void> | undefined;
  /** The model is there only in an environment with the variable KEY. */
  needsKey = false;
  /** How often a connection was ended so that its client connects again. */
  reconnects = 0;
  release: () => void = () => {};
  readonly store: GatewayStore;
  readonly sessions: SharedSessions;
  readonly audit: ConstructorParameters<typeof SharedSessions>[0]["audit"] = {
    write: (event, fields) => {
      this.written.push({ event, ...fields });
    },
  };

  constructor(world: FakeWorld = fakeWorld({ env: ENV, hosts: { "inside.example": ["10.0.0.1"] } })) {
    this.world = world;
    this.store = fileGatewayStore(world, STATE);
    const held = () => this.#held;
    const model: Model = {
      id: "test/echo",
      stream: async function* () {
        await held();
        yield { kind: "text", text: "hello" };
        yield { kind: "finish", reason: "stop" };
      },
    };
    this.sessions = new SharedSessions({
      world: this.world,
      stateDir: STATE,
      store: this.store,
      audit: this.audit,
      openRuntime: async (place) => {
        this.opened.push(place);
        await this.runtimeHeld;
        const { stateDir, env, kept } = place;
        const models = this.needsKey ? modelsWith(model, env) : undefined;
        const client = { name: "tenon", version: "1" };
        const rules = { unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
        const host = new SessionHost({
          world: this.world,
          model: models?.first ?? model,
          ...defined({ models }),
          stateDir,
          store: kept.sessions,
          ...defined({ decisions: kept.decisions }),
          client,
          ...rules,
          builtin: [],
        });
        this.hosts.push(host);
        return host;
      },
    });
  }

  /** The model says nothing until it is let. */
  hold(): void {
    this.#held = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  async access(given: Partial<Principal> = {}, meta: object = {}, roots: string[] = []): Promise<ClientAccess> {
    const { world, sessions, audit } = this;
    await world.files.createNew("/work/here", "");
    const principal = { ...LOCAL_PRINCIPAL, ...given };
    const keys = new ClientKeys(world, await this.store.clientSecret());
    const methods = new GatewayMethods({
      ...{ sessions, principal, audit, node: "n" },
      ...{ tokens: this.store.tokens, codes: this.store.codes },
      pageAddress: async () => ({ url: "http://127.0.0.1:7000/", isNear: true }),
      details: () => ({ pid: 1 }),
      stop: () => {},
    });
    const access = new ClientAccess({
      ...{ sessions, principal, keys, audit, roots, node: "n", host: "h", methods },
      reconnect: () => {
        this.reconnects += 1;
      },
    });
    access.shared.introduce({ protocolVersion: 1, _meta: { tenon: meta } });
    return access;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sessions[Symbol.asyncDispose]();
  }
}

export const REQUEST: { readonly cwd: string; readonly servers: [] } = { cwd: "/work", servers: [] };
export const LOAD = { isReplayed: true, meta: {} };

export async function said(session: SessionHandle, text: string): Promise<string> {
  const { stopReason } = await session.prompt([{ type: "text", text }]);
  return stopReason;
}
