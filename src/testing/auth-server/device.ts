// The device flow (RFC 8628): a code the person types elsewhere; the lab approves it at the poll it was told.
import { randomBytes } from "node:crypto";
import { type AuthAnswer, type AuthServerOptions, refusal } from "./options.js";
import type { Permit } from "./tokens.js";

interface Waiting {
  readonly permit: Permit;
  polls: number;
}

const DEFAULT_INTERVAL_SECONDS = 1;
const LIFETIME_SECONDS = 600;

export class Devices {
  readonly #waiting = new Map<string, Waiting>();
  readonly #codes: string[] = [];

  get secrets(): readonly string[] {
    return this.#codes;
  }

  start(permit: Permit, origin: string, { device }: AuthServerOptions): AuthAnswer {
    if (!device) return { status: 404, error: "no_device_flow" };
    const code = `device-${randomBytes(18).toString("base64url")}`;
    this.#codes.push(code);
    this.#waiting.set(code, { permit, polls: 0 });
    const body = {
      device_code: code,
      user_code: randomBytes(4).toString("hex").toUpperCase(),
      verification_uri: `${origin}/activate`,
      expires_in: LIFETIME_SECONDS,
      interval: device.intervalSeconds ?? DEFAULT_INTERVAL_SECONDS,
    };
    return { status: 200, body };
  }

  poll(code: string | undefined, clientId: string, options: AuthServerOptions): Permit | AuthAnswer {
    const waiting = code === undefined ? undefined : this.#waiting.get(code);
    if (code === undefined || waiting?.permit.clientId !== clientId)
      return refusal("invalid_grant", "the device code is unknown");
    waiting.polls += 1;
    if (options.denies) return refusal("access_denied", "the person said no");
    if (waiting.polls === 1 && options.device?.slowsDown) return refusal("slow_down", "more patience, please");
    if (waiting.polls < (options.device?.approvedAtPoll ?? 1)) return refusal("authorization_pending", "not yet");
    this.#waiting.delete(code);
    return { ...waiting.permit, account: options.account ?? "alice" };
  }
}

export function isPermit(found: Permit | AuthAnswer): found is Permit {
  return "account" in found;
}
