// A real gateway with a browser in front of it: everything a page says, loads or does wrong is kept.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { scriptedServer, type ToolScript } from "../../../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import { type Frame, WireClient } from "../gateway/wire-client.js";
import { agentNode, TENON } from "../peers.js";

export const PHONE = { width: 360, height: 740 } as const;
export const DESK = { width: 1280, height: 800 } as const;
const ALL_SCOPES = ["read", "prompt", "approve", "tools", "admin"];
const WAIT_MS = 10_000;

const TELL_VIOLATIONS =
  'addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.violatedDirective));';

/** What an answer holds is the scenario's to check. */
export type Answer = ReturnType<typeof JSON.parse>;

/** A home with a server of its own, the gateway, and an editor at its socket. */
export class PageStage implements AsyncDisposable {
  readonly home: TemporaryFolder;
  /** Policy violations, errors and warnings of every page. */
  readonly faults: string[] = [];
  /** Everything that pages asked. */
  readonly hosts: Set<string> = new Set();
  editor: WireClient;
  #child: ChildProcess;
  readonly #browser: Browser;
  #port: string | undefined;

  private constructor(home: TemporaryFolder, browser: Browser, started: { child: ChildProcess; editor: WireClient }) {
    this.home = home;
    this.#browser = browser;
    this.#child = started.child;
    this.editor = started.editor;
  }

  static async start(tools: readonly ToolScript[]): Promise<PageStage> {
    const home = new TemporaryFolder();
    const { command, args, env } = scriptedServer({ tools });
    const mcpServers = tools.length === 0 ? {} : { tracker: { command, args, env } };
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers }));
    const browser = await launch();
    try {
      return new PageStage(home, browser, await startGateway(home, []));
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** Of the page, once one was opened. */
  get address(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** Killed, and started again at the same address. */
  async restart(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    const { child, editor } = await startGateway(this.home, ["--listen", `127.0.0.1:${this.#port}`]);
    [this.#child, this.editor] = [child, editor];
  }

  /** A question was put to the editor. */
  async asked(): Promise<void> {
    await this.editor.next(({ method }) => method === "session/request_permission");
  }

  /** Questions of the editor that were withdrawn: its dialog closes. */
  withdrawn(): number {
    return this.editor.received.filter(({ method }) => method === "$/cancel_request").length;
  }

  async ask(method: string, params: object): Promise<Answer> {
    const frame: Frame = await this.editor.request(method, params);
    if (frame.error) throw new Error(frame.error.message);
    return frame.result;
  }

  async newSession(folder: string): Promise<string> {
    const cwd = join(this.home.path, folder);
    mkdirSync(cwd, { recursive: true });
    return (await this.ask("session/new", { cwd, mcpServers: [] })).sessionId;
  }

  /** As the editor: resolves with the end of the turn. */
  async prompt(sessionId: string, text: string): Promise<Answer> {
    return await this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** For pictures: more sessions, as a day has them. */
  async decorate(): Promise<void> {
    if (PICTURES === undefined) return;
    const prompts = [
      ["notes", "what tools are there?"],
      ["blog", "list the folder ."],
      ["garden", "find the files named *.md"],
    ] as const;
    for (const [folder, text] of prompts) {
      await this.prompt(await this.newSession(folder), text);
    }
  }

  /** A browser of its own, let in by a pairing code. */
  async open(
    size: { readonly width: number; readonly height: number },
    device: { readonly name: string; readonly sessionId?: string; readonly scopes?: readonly string[] },
  ): Promise<Page> {
    const { name, sessionId, scopes = ALL_SCOPES } = device;
    const { url } = await this.ask("_tenon/gateway/page", { name, scopes, sessionId });
    this.#port = new URL(url).port;
    const page = await this.fresh(size);
    await page.goto(url);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    return page;
  }

  /** A browser without cookies. Everything it complains about is a fault. */
  async fresh(viewport: { readonly width: number; readonly height: number } = DESK): Promise<Page> {
    const context = await this.#browser.newContext({ viewport, colorScheme: "light", deviceScaleFactor: 1 });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("request", (request) => this.hosts.add(new URL(request.url()).host));
    page.on("requestfailed", (request) => {
      const { errorText } = request.failure() ?? {};
      // What is still being loaded ahead when the page is left.
      if (errorText !== "net::ERR_ABORTED") this.faults.push(`${request.url()}: ${errorText}`);
    });
    await page.addInitScript({ content: TELL_VIOLATIONS });
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.editor.web.terminate();
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    this.home[Symbol.dispose]();
  }
}

async function startGateway(
  home: TemporaryFolder,
  args: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly editor: WireClient }> {
  const socket = join(home.path, "run", "g.sock");
  const words = [TENON, "gateway", "run", "--socket", socket, ...args];
  const env = cleanEnv(home.path, { TENON_LOG: "error" });
  const child = spawn(agentNode(), words, { env, cwd: home.path, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const said = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    if (typeof said[0] === "number") throw new Error(`the gateway ended with ${said[0]}`);
    const editor = await WireClient.open(`ws+unix:${socket}:/acp`);
    await editor.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: { elicitation: { form: {} } }, // what the first client can show, servers are told
      _meta: { tenon: { client: { name: "editor" } } },
    });
    return { child, editor };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

export async function launch(): Promise<Browser> {
  const path = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "chromium"));
  const executablePath = path.find((file) => existsSync(file)) ?? "chromium";
  // Without a sandbox of its own: tests run as root, which Chromium refuses otherwise. Only pages of this test are opened.
  return await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

const PICTURES = process.env["TENON_SCREENSHOTS"];
/** The folders of a test are no folders of a person. */
const WITHOUT_FOLDERS = `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\\/\\S*tenon-scenario-[^/]+/, "~/src");
}`;

/** A picture for the documents, where one is asked for. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await page.evaluate(WITHOUT_FOLDERS);
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
