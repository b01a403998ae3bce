// In a Next application: app/callback/route.ts
import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";

export async function POST(request: Request): Promise<Response> {
  try {
    const { id, payload } = await verifyCallback<{ to: string }>(request, process.env.CALLBACK_SECRET ?? "");
    console.log(`${id}: a mail to ${payload.to}`);
    return Response.json({ sent: payload.to });
  } catch (error) {
    if (!(error instanceof InvalidSignatureError)) throw error;
    return new Response(null, { status: 401 });
  }
}
