// A merchant's endpoint in Go without a secret: it verifies v1a signatures with the service's published keys and only the standard library. Put
// TLS in front of it.
//
//	COLLECT_URL=http://127.0.0.1:3000 PORT=4000 go run scripts/examples/verify_v1a.go
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	toleranceSeconds = 300
	keysFresh        = 5 * time.Minute // A rotated key keeps signing for a day, so even hours would do.
	maxBodyBytes     = 1_000_000
)

var (
	mutex   sync.Mutex
	known   []ed25519.PublicKey
	knownAt time.Time
	handled = map[string]bool{} // Store them in your database: the same event may arrive more than once.
)

func setting(name, byDefault string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return byDefault
}

func publishedKeys() ([]ed25519.PublicKey, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if known != nil && time.Since(knownAt) < keysFresh {
		return known, nil
	}
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(setting("COLLECT_URL", "http://127.0.0.1:3000") + "/.well-known/webhook-keys.json")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var published struct{ Keys []struct{ PublicKey string } }
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxBodyBytes)).Decode(&published); err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for _, each := range published.Keys {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(each.PublicKey, "whpk_"))
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("%s is no key", each.PublicKey)
		}
		keys = append(keys, key)
	}
	known, knownAt = keys, time.Now()
	return keys, nil
}

// body is the raw body.
func isGenuine(body []byte, headers http.Header, keys []ed25519.PublicKey) bool {
	timestamp := headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-seconds)) > toleranceSeconds {
		return false
	}
	signed := append([]byte(headers.Get("webhook-id")+"."+timestamp+"."), body...)
	// One for each key during a rotation, beside those of secrets.
	for _, passed := range strings.Split(headers.Get("webhook-signature"), " ") {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(passed, "v1a,"))
		if !strings.HasPrefix(passed, "v1a,") || err != nil {
			continue
		}
		for _, key := range keys {
			if ed25519.Verify(key, signed, signature) {
				return true
			}
		}
	}
	return false
}

func hook(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBodyBytes))
	if err != nil {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	keys, err := publishedKeys()
	if err != nil { // The service retries the event.
		log.Print(err)
		response.WriteHeader(http.StatusInternalServerError)
		return
	}
	var event struct {
		ID, Type string
		Data     struct {
			Payment struct{ ID, Amount, AssetCode string }
		}
	}
	if !isGenuine(body, request.Header, keys) || json.Unmarshal(body, &event) != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	mutex.Lock()
	defer mutex.Unlock()
	if payment := event.Data.Payment; !handled[event.ID] && event.Type == "payment.completed" {
		fmt.Printf("ship it: %s %s arrived (%s)\n", payment.Amount, payment.AssetCode, payment.ID)
	}
	handled[event.ID] = true
	response.WriteHeader(http.StatusNoContent)
}

func main() {
	http.HandleFunc("/hook", hook)
	fmt.Println("listening")
	log.Fatal(http.ListenAndServe("127.0.0.1:"+setting("PORT", "4000"), nil))
}
