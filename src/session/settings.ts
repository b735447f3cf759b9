// What the person may change about a session while it lives: its mode, its model, how much that thinks, how tools come before it.
import { TenonError } from "../base/errors.js";
import { INCLUDE_MODES, includeMode } from "../base/include-mode.js";
import type { JsonValue } from "../base/json/json.js";
import { SANDBOX_MODES, type SandboxMode, stricterMode } from "../config/index.js";
import type { AvailableModels, Model, ThinkingLevel } from "../models/index.js";
import type { IncludeMode, PermissionMode } from "../tools/index.js";
import type { SessionPolicy } from "./permission/judged-call.js";

/** Each with its value as a text; they are journaled under these names. */
export const SETTINGS = ["mode", "model", "thinking", "include", "sandbox"] as const;
export type SettingName = (typeof SETTINGS)[number];

/** As the configuration says, else as the provider, or Tenon, decides. */
export const DEFAULT_VALUE = "default";

/** The settings as they are now, with what each could be changed to. */
export interface SettingsView {
  readonly mode: PermissionMode;
  readonly modes: readonly PermissionMode[];
  /** `provider/name`. Left out where nobody knows it yet. */
  readonly model?: string;
  readonly models: readonly string[];
  readonly thinking: ThinkingLevel | typeof DEFAULT_VALUE;
  /** The levels the model has; empty when it has none. */
  readonly thinkingLevels: readonly ThinkingLevel[];
  /** How tools come before the model that nobody said anything about. */
  readonly include: IncludeMode;
  readonly includes: readonly IncludeMode[];
  /** What no server that is started here runs below. */
  readonly sandbox: SandboxMode;
  readonly sandboxes: readonly SandboxMode[];
}

/** What the configuration says about them. */
export interface ConfiguredSettings extends Pick<SessionPolicy, "mode" | "mayBypass" | "rules" | "afterUntrusted"> {
  readonly leastSandbox?: SandboxMode;
}

export interface SettingsOptions {
  /** The one the session begins with. */
  readonly model: Model;
  /** Without it the model stays what it is. */
  readonly available?: AvailableModels;
  /** Wraps the model so that its requests are traced. */
  readonly observe: (model: Model) => Model;
  /** Whether this machine's system has sandboxes; without, the sandbox stays what it is. */
  readonly hasSandbox?: boolean;
  /** Of the program around Tenon: they count after the configuration's. */
  readonly rules?: SessionPolicy["rules"];
  /** Of a session that is taken up again, by name. */
  readonly restored?: ReadonlyMap<string, JsonValue>;
  /** Called for what the person chose, before `onChange`. */
  onChosen(name: SettingName, value: string): void;
  /** Something about the view changed. */
  onChange(): void;
}

export class SessionSettings {
  readonly #options: SettingsOptions;
  #configured: ConfiguredSettings = { mode: "ask", mayBypass: false, rules: [] };
  #mode: PermissionMode | undefined;
  /** As it was last asked for: every call does so several times. */
  #policy: { readonly of: ConfiguredSettings; readonly now: SessionPolicy } | undefined;
  #model: Model;
  #thinking: ThinkingLevel | undefined;
  #include: IncludeMode = "always";
  #sandbox: SandboxMode = "off";

  constructor(options: SettingsOptions) {
    this.#options = options;
    this.#model = options.observe(options.model);
    for (const name of SETTINGS) this.#restore(name, options.restored?.get(name));
  }

  /** What calls are decided by. */
  get policy(): SessionPolicy {
    const configured = this.#configured;
    const { mode } = this;
    if (this.#policy?.of === configured && this.#policy.now.mode === mode) return this.#policy.now;
    const now = { ...configured, rules: [...configured.rules, ...(this.#options.rules ?? [])], mode };
    this.#policy = { of: configured, now };
    return now;
  }

  /** What was chosen for the session, else what the configuration says; what is not to be had any more is `ask`. */
  get mode(): PermissionMode {
    const wanted = this.#mode ?? this.#configured.mode;
    return MODES.includes(wanted) && (wanted !== "bypass" || this.#configured.mayBypass) ? wanted : "ask";
  }

  get model(): Model {
    return this.#model;
  }

  get thinking(): ThinkingLevel | undefined {
    return this.#thinking;
  }

  get include(): IncludeMode {
    return this.#include;
  }

  /** The least of this session's servers: never below the configuration's. */
  get sandbox(): SandboxMode {
    return stricterMode(this.#sandbox, this.#configured.leastSandbox);
  }

  get available(): AvailableModels | undefined {
    return this.#options.available;
  }

  get view(): SettingsView {
    const { id, abilities } = this.#model;
    return {
      mode: this.mode,
      modes: this.#modes,
      model: id,
      models: [...new Set([...(this.#options.available?.ids ?? [this.#options.model.id]), id])],
      thinking: this.#thinking ?? DEFAULT_VALUE,
      thinkingLevels: abilities?.thinking ?? [],
      include: this.#include,
      includes: INCLUDE_MODES,
      sandbox: this.sandbox,
      sandboxes: this.#sandboxes,
    };
  }

  /** The configuration was read, or read again. What the person chose stays, as far as it may. */
  configure(configured: ConfiguredSettings): void {
    this.#configured = configured;
    this.#options.onChange();
  }

  /** Holds from the next call, or the next model call, on. Throws `session.invalid_request` or a `model.*` code. */
  set(name: SettingName, value: string): void {
    this.#apply(name, value);
    this.#options.onChosen(name, value);
    this.#options.onChange();
  }

  #apply(name: SettingName, value: string): void {
    const { model, available, observe } = this.#options;
    switch (name) {
      case "mode":
        this.#mode = choice(name, value, this.#modes, value === "bypass" ? NO_BYPASS : "");
        break;
      case "model":
        if (value === this.#model.id) break;
        if (value !== model.id && !available) choice(name, value, [model.id]);
        this.#model = observe(value === model.id ? model : (available?.open(value) ?? model));
        break;
      case "thinking": {
        const level = choice(name, value, [DEFAULT_VALUE, ...(this.#model.abilities?.thinking ?? [])]);
        this.#thinking = level === DEFAULT_VALUE ? undefined : level;
        break;
      }
      case "include":
        this.#include = includeMode(value) ?? choice(name, value, INCLUDE_MODES);
        break;
      case "sandbox":
        this.#sandbox = choice(name, value, this.#sandboxes);
        break;
    }
  }

  /** `bypass` only where the user's own configuration allows it. */
  get #modes(): readonly PermissionMode[] {
    return MODES.filter((mode) => mode !== "bypass" || this.#configured.mayBypass);
  }

  get #sandboxes(): readonly SandboxMode[] {
    if (this.#options.hasSandbox === false) return [this.sandbox];
    return SANDBOX_MODES.filter((mode) => stricterMode(mode, this.#configured.leastSandbox) === mode);
  }

  /** What was chosen once and is not to be had any more costs only itself. The mode waits for the configuration. */
  #restore(name: SettingName, value: JsonValue | undefined): void {
    if (typeof value !== "string") return;
    try {
      if (name === "mode") this.#mode = choice(name, value, MODES);
      else this.#apply(name, value);
    } catch {
      // The model is not there any more, for one: the session goes on with its own.
    }
  }
}

/** Whether a value lets more run, or run freer, than what is chosen now. */
export function isLooser({ mode, modes, sandbox, sandboxes }: SettingsView, name: SettingName, value: string): boolean {
  if (name === "mode") return modes.findIndex((one) => one === value) > modes.indexOf(mode);
  if (name !== "sandbox") return false;
  const at = sandboxes.findIndex((one) => one === value);
  return at >= 0 && at < sandboxes.indexOf(sandbox);
}

/** The value among those that are to be had. */
function choice<T extends string>(name: SettingName, value: string, known: readonly T[], more = ""): T {
  const chosen = known.find((one) => one === value);
  if (chosen !== undefined) return chosen;
  const what = `"${value}" is no ${name} of this session; there are: ${known.join(", ")}${more}`;
  throw new TenonError("session.invalid_request", what, { hint: "Choose one of these." });
}

/** From the most careful to the least. */
const MODES: readonly PermissionMode[] = ["ask", "plan", "auto-edit", "bypass"];
const NO_BYPASS = "; bypass is for whoever's own configuration allows it";
