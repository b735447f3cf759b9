// The environment of the agent under test: no keys, a home of its own, and the address of acp-check's model.
import { delimiter, dirname, join } from "node:path";
import { MODEL_NAME, type ModelServer } from "./model/server.js";

interface EnvironmentOptions {
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly model: Pick<ModelServer, "url" | "origin">;
  /** Given on the command line, as `NAME` and `VALUE`. */
  readonly extra: readonly (readonly [string, string])[];
  /** Where the agent keeps its files; undefined leaves it the home of the person who runs the check. */
  readonly home: string | undefined;
}

/** A real key would be used for real, and paid for; a real address would lead past the model that is brought along. */
const PRIVATE = /(API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|_BASE_URL|_API_BASE)|^TENON_/iu;

/** Stand for what is secret in a person's environment: no server may find them in its own. */
export const SECRETS: Readonly<Record<string, string>> = {
  ACP_CHECK_SECRET: "acp-check-secret-1",
  AWS_SECRET_ACCESS_KEY: "acp-check-secret-2",
  GITHUB_TOKEN: "acp-check-secret-3",
  DATABASE_URL: "postgres://acp-check-secret-4",
};

const DUMMY_KEY = "acp-check-dummy";

export function agentEnvironment({ own, model, extra, home }: EnvironmentOptions): Record<string, string> {
  const kept = Object.entries(own).flatMap(([name, value]): [string, string][] =>
    value === undefined || PRIVATE.test(name) ? [] : [[name, value]],
  );
  const path = [dirname(process.execPath), own["PATH"] ?? ""].filter((one) => one !== "").join(delimiter);
  return {
    ...Object.fromEntries(kept),
    ...SECRETS,
    ...(home === undefined ? {} : homeVariables(home)),
    PATH: path, // bare commands of servers are looked up here
    TENON_BASE_URL: model.url,
    TENON_MODEL: `openai-compatible/${MODEL_NAME}`,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_BASE: model.url,
    OPENAI_API_KEY: DUMMY_KEY,
    OPENAI_MODEL: MODEL_NAME,
    ANTHROPIC_BASE_URL: model.origin,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    GOOGLE_GEMINI_BASE_URL: model.origin,
    GEMINI_API_KEY: DUMMY_KEY,
    ...Object.fromEntries(extra.map(([name, value]) => [name, fillIn(value, model)])),
  };
}

/** `{url}`, `{origin}` and `{model}` in a value or a word of the command stand for the model that is brought along. */
export function fillIn(text: string, model: Pick<ModelServer, "url" | "origin">): string {
  return text.replaceAll("{url}", model.url).replaceAll("{origin}", model.origin).replaceAll("{model}", MODEL_NAME);
}

function homeVariables(home: string): Record<string, string> {
  return {
    HOME: home,
    TENON_HOME: join(home, ".tenon"),
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
  };
}
