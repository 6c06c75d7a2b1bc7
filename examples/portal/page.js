// Reads the page again when the server says that something has changed, and shows what is new.
let reading = Promise.resolve()
const read = () => (reading = reading.then(show))
new EventSource('/changes').onmessage = read
async function show() {
  const response = await fetch(location.href).catch(() => ({}))
  if (!response.ok) return void setTimeout(read, 1000)
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  if (page.title !== document.title) return location.reload() // the session is over
  document.querySelector('#live').replaceWith(page.querySelector('#live'))
}
