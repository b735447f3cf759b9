// What servers and the model want to know of the person: forms field by field, pages by their address, both declinable.
import type { CreateElicitationRequest, CreateElicitationResponse } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { visible, visibleLine } from "../terminal/text.js";
import { type Field, readField, readTyped, usualText } from "./form-field.js";
import type { ChatTerminal } from "./line-reader.js";

const CANCEL: CreateElicitationResponse = { action: "cancel" };
const DECLINE: CreateElicitationResponse = { action: "decline" };

type Verdict = "yes" | "no" | "again" | undefined;

export class ElicitationPrompter {
  readonly #options: ChatTerminal;
  #turn: AbortSignal = AbortSignal.abort();

  constructor(options: ChatTerminal) {
    this.#options = options;
  }

  /** Questions are asked while a turn runs; outside of one the line belongs to the next prompt. */
  beginTurn(signal: AbortSignal): void {
    this.#turn = signal;
  }

  async answer(request: CreateElicitationRequest, requestSignal: AbortSignal): Promise<CreateElicitationResponse> {
    if (this.#turn.aborted) {
      this.#options.screen.line(this.#options.palette.dim(`Not asked now: ${visibleLine(request.message)}`));
      return CANCEL;
    }
    const signal = AbortSignal.any([this.#turn, requestSignal]);
    return await this.#options.queue.run(async () => {
      if (signal.aborted) return CANCEL;
      const resume = this.#options.screen.hold();
      try {
        const answer = await this.#ask(request, signal);
        return signal.aborted ? CANCEL : answer;
      } finally {
        resume();
      }
    });
  }

  async #ask(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const { screen, palette } = this.#options;
    const [first = "", ...rest] = visible(request.message).split("\n");
    screen.line(`${palette.yellow("?")} ${first}`);
    for (const line of rest) screen.line(`    ${line}`);
    if (request.mode === "url") return await this.#askPage(request, signal);
    return request.mode === "form" ? await this.#askForm(request, signal) : DECLINE;
  }

  /** The address alone on its line: it is what the person decides about, and what they copy. */
  async #askPage(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const url = "url" in request && typeof request.url === "string" ? request.url : "";
    if (!/^https?:\/\//iu.test(url)) return DECLINE;
    this.#options.screen.line(`  ${visibleLine(url)}`);
    return toResponse(await this.#decide("[y] I open it  [n] no", signal));
  }

  async #askForm(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const { screen, palette } = this.#options;
    const schema = "requestedSchema" in request ? request.requestedSchema : undefined;
    const fields = fieldsOf(isJsonObject(schema) ? schema : {});
    if (typeof fields === "string") {
      screen.line(palette.yellow(`  ${fields}`));
      return DECLINE;
    }
    const [only, ...others] = fields;
    if (only && others.length === 0) return await this.#askOnly(only, signal);
    const begun = await this.#decide("[y] answer  [n] no", signal);
    if (begun !== "yes") return toResponse(begun);
    for (;;) {
      const content = await this.#fill(fields, signal);
      if (!content) return CANCEL;
      const verdict = await this.#decide("[y] send  [e] answer again  [n] no", signal);
      if (verdict !== "again") return toResponse(verdict, content);
    }
  }

  /** A single question needs no ceremony: an empty line is no answer, unless it stands for a default. */
  async #askOnly(field: Field, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const value = await this.#askField(field, signal, { isOnly: true });
    if (value === undefined) return CANCEL;
    if (value !== LEFT_OUT) return { action: "accept", content: { [field.name]: value } };
    return field.isRequired ? DECLINE : { action: "accept", content: {} };
  }

  /** Undefined at the end of the input and when the signal aborts. */
  async #fill(fields: readonly Field[], signal: AbortSignal): Promise<Content | undefined> {
    const content: [string, ContentValue][] = [];
    for (const field of fields) {
      const value = await this.#askField(field, signal, { isOnly: false });
      if (value === undefined) return undefined;
      if (value !== LEFT_OUT) content.push([field.name, value]);
    }
    return Object.fromEntries(content);
  }

  async #askField(
    field: Field,
    signal: AbortSignal,
    { isOnly }: { readonly isOnly: boolean },
  ): Promise<ContentValue | typeof LEFT_OUT | undefined> {
    const { screen, palette, reader } = this.#options;
    const freedom = field.isRequired
      ? isOnly && field.usual === undefined
        ? " (Enter alone: no answer)"
        : ""
      : " (optional)";
    screen.line(`  ${palette.bold(field.label)}${palette.dim(freedom)}`);
    for (const [index, { title }] of field.options.entries()) screen.line(`    ${index + 1} ${visibleLine(title)}`);
    const usual = usualText(field);
    const hint = field.kind === "boolean" ? "y/n" : field.isMany ? "numbers, with commas" : "";
    const words = [hint, ...(usual === undefined ? [] : [`Enter: ${usual}`])].filter((part) => part !== "").join(", ");
    for (;;) {
      const prompt = words === "" ? "  › " : `  ${palette.dim(`[${words}]`)} › `;
      const typed = await reader.question(prompt, { signal, isFresh: true });
      if (typed === undefined || signal.aborted) return undefined;
      const read = readTyped(isOnly ? { ...field, isRequired: false } : field, typed);
      if (read.ok) return read.value === undefined ? LEFT_OUT : toContent(read.value);
      screen.line(palette.dim(`  ${read.reason}`));
    }
  }

  async #decide(menu: string, signal: AbortSignal): Promise<Verdict> {
    const { screen, palette, reader } = this.#options;
    for (;;) {
      const typed = await reader.question(`  ${menu} › `, { signal, isFresh: true });
      if (typed === undefined || signal.aborted) return undefined;
      const word = typed.trim().toLowerCase();
      if (["y", "yes"].includes(word)) return "yes";
      if (["n", "no"].includes(word)) return "no";
      if (menu.includes("[e]") && ["e", "edit"].includes(word)) return "again";
      screen.line(palette.dim(`  Please answer ${menu.includes("[e]") ? "y, e or n" : "y or n"}.`));
    }
  }
}

type ContentValue = string | number | boolean | string[];
type Content = Record<string, ContentValue>;

const LEFT_OUT = Symbol("left out");

function toContent(value: JsonValue): ContentValue | typeof LEFT_OUT {
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return typeof value === "object" || value === null ? LEFT_OUT : value;
}

function toResponse(verdict: Verdict, content?: Content): CreateElicitationResponse {
  if (verdict === "yes") return { action: "accept", ...defined({ content }) };
  return verdict === "no" ? DECLINE : CANCEL;
}

/** Words for why it cannot be asked here. */
function fieldsOf({ properties, required }: JsonObject): readonly Field[] | string {
  const needed = Array.isArray(required) ? required : [];
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const field = readField(name, property, needed.includes(name));
    if (field) fields.push(field);
    else if (needed.includes(name)) return `It needs "${visibleLine(name)}", which cannot be typed here.`;
  }
  return fields;
}
